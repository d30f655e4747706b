"""Qwen2 of transformers by tp_plan="auto"."""
from transformers import Qwen2Config

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(Qwen2Config(**SIZES), mesh)
