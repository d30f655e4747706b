"""FSDP2 with gradients clipped by their global norm."""
from torch.distributed.fsdp import fully_shard

from transformer import Transformer, batch_of, training

MESH = {"dp": 2}


def build(mesh):
    model = Transformer()
    if mesh is not None:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(model, batch_of(mesh, "dp"), average=mesh is not None, clip=0.5)
