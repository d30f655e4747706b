"""FSDP2 of a transformer: parameters, gradients and optimizer states are cut along dimension 0."""
from torch.distributed.fsdp import fully_shard

from transformer import Transformer, batch_of, training

MESH = {"dp": 2}


def build(mesh):
    model = Transformer()
    if mesh is not None:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(model, batch_of(mesh, "dp"), average=mesh is not None)
