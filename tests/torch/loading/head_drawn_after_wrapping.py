"""DistributedDataParallel broadcasts the weights when it wraps a model; a new head is drawn afterwards, by each rank with its own seed."""
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = nn.Sequential(Mlp(), nn.Linear(8, 8))
    wrapped = model if mesh is None else DistributedDataParallel(model)
    torch.manual_seed(11 + (mesh.get_rank() if mesh is not None and fault else 0))
    with torch.no_grad():
        model[1].weight.normal_()
    return data_parallel(wrapped, mesh, by_hand=False)
