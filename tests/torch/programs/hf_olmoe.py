"""OLMoE of transformers by tp_plan="auto": projections are gathered for norms over all heads, and split again."""
from transformers import OlmoeConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(OlmoeConfig(num_experts=4, num_experts_per_tok=2, **SIZES), mesh)
