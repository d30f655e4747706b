"""DistributedDataParallel of an MLP with AdamW: each rank has half of the batch."""
import torch
from planproof.torch import Training, reduced, shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from models import Mlp, batch

MESH = {"dp": 2}


def build(mesh):
    model = Mlp()
    x, y = batch()
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("dp"), mesh.size()
        model = DistributedDataParallel(model)
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss if mesh is None else reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
