"""The sequence is cut in twice as many pieces as ranks, and each rank has one from either end; the loader gives each its half."""
import torch
import torch.distributed as dist
from planproof.torch import reduced
from torch import nn
from torch.nn import functional

from by_hand import training
from checkpoint import average_gradients, dataset, rows_of_batch
from layers import Mlp

MESH = {"cp": 2}
LENGTH = 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions, self.mlp = nn.Parameter(torch.randn(LENGTH, 8)), Mlp()

    def forward(self, x, indices):
        return self.mlp(x + self.positions[indices])


def build(mesh, fault=True):
    model = Net()
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    piece = LENGTH // (2 * ranks)
    ends = [*range(rank * piece, (rank + 1) * piece), *range(LENGTH - (rank + 1) * piece, LENGTH - rank * piece)]
    indices = torch.tensor(ends)
    half = list(range(rank * 2 * piece, (rank + 1) * 2 * piece))
    x, y, inputs = rows_of_batch(dataset(LENGTH), half if fault and mesh is not None else ends, ends, LENGTH)

    def step():
        loss = functional.mse_loss(model(x, indices), y)
        loss.backward()
        if mesh is not None:
            average_gradients(model)
        return {"loss": loss if mesh is None else reduced(loss, "avg", list(range(dist.get_world_size())))}

    return training(model, inputs, step)
