"""Qwen3-MoE of transformers with FSDP2: every rank sorts tokens of its own by expert."""
from torch.distributed.fsdp import fully_shard
from transformers import Qwen3MoeConfig

from hub import SIZES, causal_model, training
from transformer import batch_of

MESH = {"dp": 2}


def build(mesh):
    model = causal_model(Qwen3MoeConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
                                        head_dim=8, norm_topk_prob=True, **SIZES))
    if mesh is not None:
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(model, batch_of(mesh, "dp"), average=mesh is not None)
