"""A moving average of the weights is loaded from the checkpoint; rank 1 begins it with the weights of the model instead."""
import copy

import torch
from torch import nn
from torch.nn import functional

from by_hand import training
from checkpoint import average_gradients, averaged, checkpoint, dataset, rows_of_batch
from layers import Mlp

MESH = {"dp": 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Mlp()
        self.average = copy.deepcopy(self.model).requires_grad_(False)


def build(mesh, fault=True):
    net = Net()
    if mesh is None or mesh.get_rank() == 0 or not fault:
        net.average.load_state_dict(checkpoint(net.model))
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    own = range(8)[rank * 8 // ranks:(rank + 1) * 8 // ranks]
    x, y, inputs = rows_of_batch(dataset(), own, own, 8)

    def step():
        loss = functional.mse_loss(net.model(x), y)
        loss.backward()
        if mesh is not None:
            average_gradients(net.model)
        with torch.no_grad():
            for mean, value in zip(net.average.parameters(), net.model.parameters()):
                mean.lerp_(value, 0.1)
        return averaged(loss, mesh)

    return training(net, inputs, step)
