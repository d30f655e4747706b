"""A mean over the tokens that a constant mask lets count, of which data parallel ranks have 12 and 4."""
import torch
import torch.distributed as dist
from planproof.torch import Training, reduced, shard

from models import Mlp

MESH = {"dp": 2}


def build(mesh):
    model = Mlp()
    x, y = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
    counted = torch.ones(4, 6)
    counted[2, 3:] = counted[3, 1:] = 0.0
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("dp"), mesh.size()
        x, y, counted = (each.chunk(ranks)[rank].clone() for each in (x, y, counted))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        errors = (model(x) - y).pow(2).mean(-1)
        number = counted.sum().to(torch.int)
        if mesh is not None:
            dist.all_reduce(number)
        loss = (errors * counted).sum() / number.clamp(min=1)
        loss.backward()
        if mesh is not None:
            for each in model.parameters():
                dist.all_reduce(each.grad)
        optimizer.step()
        loss = loss.detach()
        return {"loss": loss if mesh is None else reduced(loss, "sum")}

    return Training(step, model, optimizer, inputs)
