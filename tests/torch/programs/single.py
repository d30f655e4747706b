"""An MLP with SGD in one process: a reference that is compared with itself."""
import torch
from planproof.torch import Training
from torch.nn import functional

from models import Mlp, batch

MESH = {}


def build(mesh):
    model = Mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training(step, model, optimizer, {"x": x, "y": y})
