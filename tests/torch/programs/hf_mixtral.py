"""Mixtral of transformers by tp_plan="auto"."""
from transformers import MixtralConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(MixtralConfig(num_local_experts=4, num_experts_per_tok=2,
                                         sliding_window=None, **SIZES), mesh)
