"""DeepSpeed's AutoTP of a Llama of transformers; gradients are clipped at a norm of 1, as DeepSpeed does unless it is told."""
import torch
from planproof.torch import Training
from planproof.torch.shims import deepspeed as shim
from planproof.torch.shims.megatron import cut
from transformers import LlamaConfig

from hub import SIZES, causal_model
from transformer import batch_of

shim.install()

import deepspeed  # noqa: E402

MESH = {"tp": 2}
COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head")
ROWS = ("o_proj", "down_proj")


def build(mesh):
    model = causal_model(LlamaConfig(**SIZES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = batch_of(None, None)
    if mesh is None:
        def reference_step():
            loss = model(input_ids=tokens, labels=labels, use_cache=False).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            gradients = {name: value.grad for name, value in model.named_parameters()}
            optimizer.zero_grad()  # gone, as in an engine
            return outputs_of(loss, gradients)

        return Training(reference_step, model, shim.WithoutCounters(optimizer), inputs)
    settings = {"train_micro_batch_size_per_gpu": 2, "tensor_parallel": {"autotp_size": 2},
                "zero_allow_untested_optimizer": True, "zero_optimization": {"stage": 0}}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings,
                                      dist_init_required=False)
    held = shim.Held(engine)

    def placement(name, parameter):
        word = name.split(".")[-2]
        if word not in COLUMNS + ROWS:
            return None
        return cut(parameter.shape, 0 if word in COLUMNS else 1, mesh.get_local_rank("tp"), 2)

    def step():
        loss = engine(input_ids=tokens, labels=labels, use_cache=False).loss
        engine.backward(loss)
        engine.step()
        return outputs_of(loss, held.gradients())

    held.model.placement = placement
    return Training(step, held.model, held, inputs, placement=placement)


def outputs_of(loss, gradients):
    return {"loss": loss, **{f"gradient of {name}": value for name, value in gradients.items()}}
