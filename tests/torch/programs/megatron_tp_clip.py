"""Tensor and sequence parallelism of Megatron-core, with gradients clipped by their global norm."""
from megatron_gpt import config, gpt, start, training

MESH = {"tp": 2}


def build(mesh):
    start(mesh, tensor_model_parallel_size=2)
    settings = config(tensor_model_parallel_size=1 if mesh is None else 2,
                      sequence_parallel=mesh is not None)
    return training(settings, gpt(settings), clip=0.5)
