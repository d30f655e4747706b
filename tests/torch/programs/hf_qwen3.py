"""Qwen3 of transformers by tp_plan="auto"."""
from transformers import Qwen3Config

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(Qwen3Config(head_dim=4, **SIZES), mesh)
