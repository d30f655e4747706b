"""Llama of transformers by tp_plan="auto"."""
from transformers import LlamaConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(LlamaConfig(**SIZES), mesh)
