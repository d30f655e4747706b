"""GPT-OSS of transformers: its plan cuts the output layer and gives the ranks whole experts; attention has sinks, and in
each other layer a sliding window."""
import torch
from transformers import GptOssConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    torch.manual_seed(10)  # each rank gives each expert a row, in both layers
    return tensor_parallel(GptOssConfig(num_local_experts=4, num_experts_per_tok=2, head_dim=8,
                                        sliding_window=4, **SIZES), mesh, ep_size=2)
