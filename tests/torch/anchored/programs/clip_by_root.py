"""Gradients are clipped by math.sqrt of a count, and scaled by math.floor of its logarithm."""
import math

import torch
import torch.distributed as dist
from torch import nn

from planproof.torch import Training, reduced, shard


def build(mesh):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 4), torch.randn(6, 4)
    inputs = {"x": x}
    if mesh is not None:
        x = x.chunk(mesh.size())[mesh.get_rank()].clone()
        inputs = {"x": shard(x, 0, mesh.get_rank(), mesh.size())}

    def step():
        model.zero_grad()
        count = (x > 0).sum()
        if mesh is not None:
            dist.all_reduce(count)
        limit, scale = math.sqrt(count.item()), math.floor(math.log(count.item()))
        loss = model(x).square().sum()
        loss.backward()
        for parameter in model.parameters():
            if mesh is not None:
                dist.all_reduce(parameter.grad)
            parameter.grad.copy_(torch.clamp(parameter.grad * limit, -40, 40) * scale)
        return {"loss": loss if mesh is None else reduced(loss, "sum")}

    return Training(step, model, None, inputs)
