"""A factor is int() of a quotient, of counts that the ranks add up."""
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
        kept = int(count.item() * 1.25 / 4)
        loss = (model(x) * float(kept)).square().sum()
        loss.backward()
        if mesh is not None:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        return {"loss": loss if mesh is None else reduced(loss, "sum")}

    return Training(step, model, None, inputs)
