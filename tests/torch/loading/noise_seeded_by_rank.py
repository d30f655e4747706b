"""Noise is added to the samples, drawn with a seed of the data parallel coordinate; if the seed is the rank's, the ranks of tp add
different noise."""
import torch
from planproof.torch import reduced, shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional

from by_hand import training
from checkpoint import average_gradients, dataset
from layers import Mlp

MESH = {"dp": 2, "tp": 2}
SIZE, RANKS = 8, 2


def drawn(seed):
    return torch.randn(SIZE // RANKS, 8, generator=torch.Generator().manual_seed(seed))


def build(mesh, fault=True):
    model = Mlp()
    x, y = (each[:SIZE].clone() for each in dataset())
    if mesh is None:
        inputs = {"x": x, "y": y, "noise": torch.cat([drawn(rank) for rank in range(RANKS)])}
    else:
        parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        dp = mesh.get_local_rank("dp")
        x, y = (each.chunk(RANKS)[dp].clone() for each in (x, y))
        noise = drawn(mesh.get_rank() if fault else dp)
        inputs = {name: shard(each, 0, dp, RANKS) for name, each in {"x": x, "y": y, "noise": noise}.items()}
    noise = inputs["noise"] if mesh is None else noise

    def step():
        loss = functional.mse_loss(model(x + 0.1 * noise), y)
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        average_gradients(model, mesh.get_group("dp"))
        return {"loss": reduced(loss, "avg", torch.distributed.get_process_group_ranks(mesh.get_group("dp")))}

    return training(model, inputs, step)
