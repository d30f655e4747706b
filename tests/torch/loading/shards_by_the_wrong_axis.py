"""Hybrid sharding: each rank loads the shard of its coordinate among replicas."""
import torch.distributed as dist
from planproof.torch import reduced
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from by_hand import training
from checkpoint import checkpoint, dataset, load_shards, rows_of_batch
from layers import Mlp

MESH = {"replicate": 2, "shard": 2}
SIZE = 8


def build(mesh, fault=True):
    model = nn.Sequential(nn.Linear(8, 8), Mlp())
    saved = checkpoint(model)
    if mesh is None:
        model.load_state_dict(saved)
        own = range(SIZE)
    else:
        fully_shard(model, mesh=mesh)
        coordinate = mesh.get_local_rank("replicate" if fault else "shard")
        load_shards(model, lambda name, _: saved[name].chunk(2)[coordinate])
        own = range(SIZE)[mesh.get_rank() * 2:][:2]
    x, y, inputs = rows_of_batch(dataset(), own, own, SIZE)

    def step():
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return {"loss": loss if mesh is None else reduced(loss, "avg", list(range(dist.get_world_size())))}

    return training(model, inputs, step)
