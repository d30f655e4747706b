"""Replicas whose weights each rank draws with a seed of its own, and nobody broadcasts."""
import torch
from torch import nn

from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    if mesh is not None and fault:
        torch.manual_seed(mesh.get_rank())
    model = nn.Sequential(nn.Linear(8, 8), Mlp())
    return data_parallel(model, mesh)
