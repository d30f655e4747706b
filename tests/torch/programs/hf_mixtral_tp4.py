"""Mixtral of transformers by tp_plan="auto" on four ranks."""
from transformers import MixtralConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 4}


def build(mesh):
    sizes = {**SIZES, "intermediate_size": 32, "num_key_value_heads": 4}
    return tensor_parallel(MixtralConfig(num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
                                         **sizes), mesh)
