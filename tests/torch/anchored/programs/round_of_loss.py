"""Gradients are scaled by round() of a loss, which all ranks have."""
import torch
import torch.distributed as dist
from torch import nn

from planproof.torch import Training, shard


def build(mesh):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 4), torch.randn(6, 4)
    inputs = {"x": x}
    if mesh is not None:
        x = x.chunk(mesh.size())[mesh.get_rank()].clone()
        inputs = {"x": shard(x, 0, mesh.get_rank(), mesh.size())}

    def step():
        model.zero_grad()
        loss = model(x).square().sum()
        whole = loss.detach().clone()
        if mesh is not None:
            dist.all_reduce(whole)
        (loss * (round(whole.item() * 3) * 0.5)).backward()
        if mesh is not None:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        return {"loss": whole}

    return Training(step, model, None, inputs)
