"""Tensor parallelism of a transformer by DTensor."""
from transformer import Transformer, tensor_parallel, training

MESH = {"tp": 2}


def build(mesh):
    model = Transformer()
    if mesh is not None:
        tensor_parallel(model, mesh)
    return training(model)
