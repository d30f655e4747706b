"""Cohere2 of transformers by tp_plan="auto": attention and feed-forward side by side, one layer with a window of four."""
from transformers import Cohere2Config

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    return tensor_parallel(Cohere2Config(sliding_window=4, layer_types=["sliding_attention", "full_attention"],
                                         **SIZES), mesh)
