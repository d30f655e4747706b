"""What torchtitan's programs share: tiny models by its own configurations, and an iteration as its trainer has it."""
from types import SimpleNamespace

import torch
from planproof.torch import Training, reduced
from planproof.torch.shims import torchtitan as shim
from torch.distributed.tensor import DTensor

from models import VOCABULARY
from transformer import batch_of

shim.install()

from torchtitan.components.loss import cross_entropy_loss  # noqa: E402
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig  # noqa: E402
from torchtitan.distributed import ParallelDims  # noqa: E402
from torchtitan.distributed import utils as distributed  # noqa: E402
from torchtitan.models import deepseek_v3, llama3  # noqa: E402
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm  # noqa: E402

WIDTH, HEADS, LENGTH = 16, 4, 8


def llama():
    """The configuration of a Llama of two layers."""
    return llama3.Llama3Model.Config(
        dim=WIDTH, vocab_size=VOCABULARY,
        tok_embeddings=Embedding.Config(num_embeddings=VOCABULARY, embedding_dim=WIDTH,
                                        param_init=llama3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=WIDTH, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features=WIDTH, out_features=VOCABULARY,
                              param_init=llama3._output_linear_init(WIDTH)),
        layers=llama3._build_llama3_layers(
            n_layers=2, dim=WIDTH, n_heads=HEADS, n_kv_heads=2, hidden_dim=24, attn_backend="flex",
            rope=ComplexRoPE.Config(dim=WIDTH // HEADS, max_seq_len=LENGTH, theta=10000)))


def deepseek():
    """The configuration of a DeepSeek-V3 of one dense layer and one with four experts, two for each token."""
    return deepseek_v3.DeepSeekV3Model.Config(
        dim=WIDTH, vocab_size=VOCABULARY, mtp_layers=[],
        tok_embeddings=Embedding.Config(num_embeddings=VOCABULARY, embedding_dim=WIDTH,
                                        param_init=llama3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=WIDTH, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features=WIDTH, out_features=VOCABULARY,
                              param_init=llama3._output_linear_init(WIDTH)),
        layers=deepseek_v3._build_dsv3_layers(
            n_layers=2, n_dense_layers=1, dim=WIDTH, n_heads=HEADS, q_lora_rank=0, kv_lora_rank=8,
            qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=4, mscale=1.0, dense_hidden_dim=24,
            moe_hidden_dim=16, num_experts=4, num_shared_experts=1, router_top_k=2,
            router_score_func="softmax", attn_backend="flex", moe_comm_backend="standard",
            non_blocking_capacity_factor=None,
            rope=ComplexRoPE.Config(dim=4, max_seq_len=LENGTH, theta=10000)))


def training(mesh, settings, parallelize, clip=None, **degrees):
    """An iteration with AdamW. `parallelize` is the model's own function, `degrees` are torchtitan's."""
    parallelism = ParallelismConfig(**(degrees if mesh is not None else {}))
    settings.update_from_config(config=SimpleNamespace(parallelism=parallelism))
    distributed.set_spmd_backend(parallelism.spmd_backend)
    torch.manual_seed(0)
    model = settings.build()
    model.init_states()
    context, data, group = None, batch_of(None, None, 4), None
    if mesh is not None:
        dims = ParallelDims.from_config(parallelism, mesh.size())
        dims.build_mesh()
        parallelize(model, parallel_dims=dims, parallelism=parallelism, compile_config=CompileConfig(),
                    ac_config=None, dump_folder="",
                    training=TrainingConfig(mixed_precision_param="float32"))
        shim.sum_gradients(model)
        context = distributed.get_spmd_context(parallel_dims=dims)
        if dims.dp_enabled:
            batch = dims.get_mesh("batch")
            data, group = batch_of(batch, "batch", 4), batch.get_group()
    return iteration(model, data, clip, context, group)


def iteration(model, data, clip, context, group):
    """The loss is the sum over this rank's tokens, divided by the number of all tokens."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = data
    number = 4 * LENGTH

    def loss_and_gradients():
        loss = cross_entropy_loss(model(tokens), labels, global_vocab_size=VOCABULARY) / number
        loss.backward()
        return loss

    def step():
        optimizer.zero_grad()
        if context is None:
            loss = loss_and_gradients()
        else:
            with context():
                loss = loss_and_gradients()
        outputs = {"loss": loss.detach() if group is None else reduced(
            loss.detach(), "sum", torch.distributed.get_process_group_ranks(group))}
        if clip is not None:
            norm = distributed.clip_grad_norm_(model.parameters(), clip, foreach=True)
            outputs["norm"] = norm.full_tensor() if isinstance(norm, DTensor) else norm
        optimizer.step()
        return outputs

    return Training(step, model, optimizer, inputs)
