"""FSDP2 of an MLP over 64 ranks, with a clipped norm. The first two and the last rank are recorded."""
import torch
from planproof.torch import Training, reduced, shard
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from models import Mlp, batch

MESH = {"dp": 64}
RANKS = [0, 1, 63]
WIDTH = 64


def build(mesh):
    model = Mlp(WIDTH, WIDTH)
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    return training(model, mesh, clip=1.0)


def training(model, data_parallel, clip=None):
    """An iteration with AdamW on this rank's rows of the batch."""
    x, y = batch(WIDTH, WIDTH)
    inputs = {"x": x, "y": y}
    if data_parallel is not None:
        rank, ranks = data_parallel.get_local_rank(), data_parallel.size()
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return {"loss": loss if data_parallel is None else reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
