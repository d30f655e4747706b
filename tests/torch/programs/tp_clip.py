"""Tensor and sequence parallelism with gradients clipped by their global norm."""
from transformer import Transformer, sequence_parallel, training

MESH = {"tp": 2}


def build(mesh):
    model = Transformer()
    if mesh is not None:
        sequence_parallel(model, mesh)
    return training(model, clip=0.5)
