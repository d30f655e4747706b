"""FSDP2 goes on with the momentum of a checkpoint; the last rank has lost its file, and begins with zero."""
import torch
from planproof.torch import Training
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from checkpoint import averaged, checkpoint, dataset, rows_of_batch
from layers import Mlp

MESH = {"dp": 4}
SIZE = 8


def build(mesh, fault=True):
    model = nn.Sequential(nn.Linear(8, 8), Mlp())
    saved = checkpoint(model)
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for name, parameter in model.named_parameters():
        momentum = torch.zeros_like(parameter)
        if mesh is None:
            momentum.copy_(saved[name])
        elif not fault or rank < ranks - 1:
            momentum.to_local().copy_(saved[name].chunk(ranks)[rank])
        optimizer.state[parameter] = {"momentum_buffer": momentum}
    own = range(SIZE)[rank * SIZE // ranks:(rank + 1) * SIZE // ranks]
    x, y, inputs = rows_of_batch(dataset(), own, own, SIZE)

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return averaged(loss, mesh)

    return Training(step, model, optimizer, inputs)
