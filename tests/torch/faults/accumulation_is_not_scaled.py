"""Gradients of two microbatches are added up, and not divided by their number."""
import torch
import torch.distributed as dist
from planproof.torch import part, reduced
from torch.nn import functional

from by_hand import training
from models import Mlp, batch

MESH = {"dp": 2}
STEPS = 2


def build(mesh, fault=True):
    model = Mlp()
    x, y = batch(8)
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank = mesh.get_local_rank("dp")
        inputs = {name: part(whole[4 * rank:4 * rank + 4].clone(), whole.shape, [[[4 * rank, 4]], [[0, 8]]])
                  for name, whole in inputs.items()}
        x, y = (each.tensor for each in inputs.values())

    def step():
        if mesh is None:
            loss = functional.mse_loss(model(x), y)
            loss.backward()
            return {"loss": loss}
        total = torch.zeros(())
        for a, b in zip(x.chunk(STEPS), y.chunk(STEPS)):
            loss = functional.mse_loss(model(a), b)
            (loss if fault else loss / STEPS).backward()
            total += loss.detach() / STEPS
        for each in model.parameters():
            dist.all_reduce(each.grad, dist.ReduceOp.AVG)
        return {"loss": reduced(total, "avg")}

    return training(model, inputs, step)
