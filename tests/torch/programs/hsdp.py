"""Hybrid sharding: FSDP2 within a group, replicas between groups."""
from torch.distributed.fsdp import fully_shard

from transformer import Transformer, batch_of, training

MESH = {"replicate": 2, "shard": 2}


def build(mesh):
    model = Transformer()
    data = batch_of(None, None, 4)
    if mesh is not None:
        data = batch_of(mesh._flatten("dp"), "dp", 4)
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(model, data, average=mesh is not None)
