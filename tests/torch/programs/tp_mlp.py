"""Tensor parallelism of an MLP by DTensor: the first layer by columns, the second by rows."""
import torch
from planproof.torch import Training
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)
from torch.nn import functional

from models import Mlp, batch

MESH = {"tp": 2}


def build(mesh):
    model = Mlp()
    if mesh is not None:
        parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = batch()

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training(step, model, optimizer, {"x": x, "y": y})
