"""Gradients of two microbatches added up before they are reduced; the reference has one batch."""
import torch
from planproof.torch import Training, part, reduced
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from models import Mlp, batch

MESH = {"dp": 2}
STEPS = 2


def build(mesh):
    model = Mlp()
    x, y = batch(8)
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank = mesh.get_local_rank("dp")
        model = DistributedDataParallel(model)
        inputs = {name: part(whole[4 * rank:4 * rank + 4].clone(), whole.shape,
                             [[[4 * rank, 4]], [[0, 8]]])
                  for name, whole in inputs.items()}
        x, y = (each.tensor for each in inputs.values())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def accumulate():
        total = torch.zeros(())
        for index, (a, b) in enumerate(zip(x.chunk(STEPS), y.chunk(STEPS))):
            model.require_backward_grad_sync = index == STEPS - 1
            loss = functional.mse_loss(model(a), b) / STEPS
            loss.backward()
            total += loss.detach()
        return total

    def step():
        optimizer.zero_grad()
        if mesh is None:
            loss = functional.mse_loss(model(x), y)
            loss.backward()
        else:
            loss = accumulate()
        optimizer.step()
        return {"loss": loss if mesh is None else reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
