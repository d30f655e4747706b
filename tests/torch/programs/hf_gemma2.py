"""Gemma2 of transformers by tp_plan="auto"."""
from transformers import Gemma2Config

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(Gemma2Config(head_dim=4, query_pre_attn_scalar=4, sliding_window=4,
                                        **SIZES), mesh)
