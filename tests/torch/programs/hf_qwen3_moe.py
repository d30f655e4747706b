"""Qwen3-MoE of transformers by tp_plan="auto"."""
from transformers import Qwen3MoeConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(Qwen3MoeConfig(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
                                          head_dim=8, norm_topk_prob=True, **SIZES), mesh)
