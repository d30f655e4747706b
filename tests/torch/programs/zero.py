"""What DeepSpeed's programs share: the tiny transformer, and an iteration of an engine."""
import torch
from planproof.torch import Training, reduced
from planproof.torch.shims import deepspeed as shim

from transformer import Transformer, batch_of, loss_of

shim.install()

import deepspeed  # noqa: E402


def engine_of(model, stage, clip=0.0, accumulated=1, size=1):
    """DeepSpeed's engine, with buckets that are smaller than the model."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    settings = {
        "train_micro_batch_size_per_gpu": size, "gradient_accumulation_steps": accumulated,
        "gradient_clipping": clip, "zero_allow_untested_optimizer": True,
        "zero_optimization": {
            "stage": stage, "reduce_bucket_size": 1000, "allgather_bucket_size": 1000,
            "overlap_comm": False, "stage3_param_persistence_threshold": 0,
            "stage3_prefetch_bucket_size": 1000}}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings,
                                      dist_init_required=False)
    return engine


def training(mesh, stage, clip=0.0, accumulated=1, ranks=2):
    """An iteration with AdamW, of `accumulated` microbatches on each rank; the reference has one batch."""
    model = Transformer()
    if mesh is None:
        return reference(model, clip, ranks * accumulated)
    tokens, labels, inputs = batch_of(mesh, "dp", ranks * accumulated)
    engine = engine_of(model, stage, clip, accumulated)

    def step():
        total = torch.zeros(())
        for part, target in zip(tokens.split(1), labels.split(1)):
            loss = loss_of(engine(part), target)
            engine.backward(loss)
            engine.step()
            total += loss.detach() / accumulated
        gradients = {f"gradient of {name}": value for name, value in held.gradients().items()}
        return {"loss": reduced(total, "avg"), **gradients}

    held = shim.Held(engine)
    return Training(step, held.model, held, inputs, placement=held.model.placement)


def reference(model, clip, size):
    """The same in one process, without DeepSpeed."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = batch_of(None, None, size)

    def step():
        loss = loss_of(model(tokens), labels)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        gradients = {f"gradient of {name}": value.grad for name, value in model.named_parameters()}
        optimizer.zero_grad()  # gone, as in an engine
        return {"loss": loss, **gradients}

    return Training(step, model, shim.WithoutCounters(optimizer), inputs)
