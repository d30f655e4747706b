"""Tensor parallelism of Megatron-core."""
from megatron_gpt import config, gpt, start, training

MESH = {"tp": 2}


def build(mesh):
    start(mesh, tensor_model_parallel_size=2)
    settings = config(tensor_model_parallel_size=1 if mesh is None else 2)
    return training(settings, gpt(settings))
