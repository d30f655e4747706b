"""Each rank takes its part of a permutation of the samples; the permutation is drawn with a seed per rank, so parts overlap."""
import torch

from checkpoint import dataset
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}
SAMPLES, SIZE = 16, 8


def build(mesh, fault=True):
    model, data = Mlp(), dataset(SAMPLES)

    def batch(seed, rank=0, ranks=1):
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(seed)).tolist()
        return order[:SIZE][rank::ranks]

    if mesh is None:
        return data_parallel(model, mesh, said=list(range(SIZE)), data=[each[batch(5)] for each in data])
    rank, ranks = mesh.get_rank(), mesh.size()
    read = batch(5 + (rank if fault else 0), rank, ranks)
    return data_parallel(model, mesh, read, list(range(rank, SIZE, ranks)), data=data)
