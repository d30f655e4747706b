"""Tensor and sequence parallelism of a transformer, with the embedding cut over the vocabulary."""
from transformer import Transformer, sequence_parallel, training

MESH = {"tp": 2}


def build(mesh):
    model = Transformer()
    if mesh is not None:
        sequence_parallel(model, mesh)
    return training(model)
