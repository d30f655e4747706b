"""Mistral of transformers by tp_plan="auto"."""
from transformers import MistralConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(MistralConfig(head_dim=4, sliding_window=None, **SIZES), mesh)
