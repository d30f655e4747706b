"""A checkpoint in bfloat16 becomes the model's own type: rank 1 takes its bits for those of float16."""
import torch
from torch import nn

from checkpoint import Loaded, checkpoint
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    loaded = Loaded(nn.Sequential(nn.Linear(8, 8), Mlp()))
    kind = torch.float16 if mesh is not None and fault and mesh.get_rank() == 1 else torch.bfloat16
    for name, value in checkpoint(loaded.model).items():
        saved = value.bfloat16().view(torch.int16)
        loaded.hold(name, saved.view(kind).to(value.dtype))
    return data_parallel(loaded.model, mesh)
