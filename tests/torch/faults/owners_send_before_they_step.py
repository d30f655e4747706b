"""Each rank steps with the parameters that it owns, and sends them to the others: before its step, so that these keep stale
ones."""
import torch
import torch.distributed as dist
from planproof.torch import Training, reduced, shard
from torch.nn import functional

from models import Mlp, batch

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = Mlp()
    x, y = batch()
    inputs = {"x": x, "y": y}
    owned = list(model.parameters())
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("dp"), mesh.size()
        owned = owned[rank::ranks]
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(owned, lr=1e-2)

    def send():
        for index, each in enumerate(model.parameters()):
            dist.broadcast(each.data, index % ranks)

    def step():
        model.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        if mesh is None:
            optimizer.step()
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad, dist.ReduceOp.AVG)
        if fault:
            send()
            optimizer.step()
        else:
            optimizer.step()
            send()
        return {"loss": reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
