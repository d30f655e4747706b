"""GPT-OSS of transformers on four ranks, with eight experts and three for each of 96 tokens: tensors of more elements than are
known one by one."""
import torch
from transformers import GptOssConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 4}


def build(mesh):
    torch.manual_seed(5)  # each rank gives each expert a row, in both layers
    return tensor_parallel(GptOssConfig(num_local_experts=8, num_experts_per_tok=3, head_dim=8, sliding_window=3,
                                        **{**SIZES, "num_key_value_heads": 4}), mesh, size=12, ep_size=4)
