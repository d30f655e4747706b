"""Tensor and sequence parallelism of Megatron-core over four ranks; each layer runs again in the backward pass."""
from megatron_gpt import config, gpt, start, training

MESH = {"tp": 4}


def build(mesh):
    start(mesh, tensor_model_parallel_size=4)
    settings = config(tensor_model_parallel_size=1 if mesh is None else 4,
                      sequence_parallel=mesh is not None, recompute_granularity="full",
                      recompute_method="uniform", recompute_num_layers=1)
    return training(settings, gpt(settings))
