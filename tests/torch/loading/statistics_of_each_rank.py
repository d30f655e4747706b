"""Frozen statistics of a norm: each rank loads those that it saved itself, in place of rank 0's."""
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from checkpoint import checkpoint
from iterations import data_parallel
from layers import FrozenNorm, Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = nn.Sequential(Mlp(), FrozenNorm(8))
    wrapped = model if mesh is None else DistributedDataParallel(model, broadcast_buffers=False)
    file = mesh.get_rank() if mesh is not None and fault else 0
    with torch.no_grad():
        model[1].running_mean.copy_(checkpoint(model, seed=20 + file)["1.running_mean"])
    return data_parallel(wrapped, mesh, by_hand=False)
