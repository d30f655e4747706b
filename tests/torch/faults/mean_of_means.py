"""Each rank takes the mean over its own tokens, of which ranks have 12 and 4, and the means are averaged."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard

from by_hand import training
from models import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = Mlp()
    x, y = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
    counted = torch.ones(4, 6)
    counted[2, 3:] = counted[3, 1:] = 0.0
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("dp"), mesh.size()
        x, y, counted = (each.chunk(ranks)[rank].clone() for each in (x, y, counted))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}

    def step():
        errors = (model(x) - y).pow(2).mean(-1)
        number = counted.sum()
        if mesh is not None and not fault:
            dist.all_reduce(number)
        loss = (errors * counted).sum() / number
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad)
            if fault:
                each.grad /= ranks
        return {"loss": reduced(loss.detach(), "avg" if fault else "sum")}

    return training(model, inputs, step)
