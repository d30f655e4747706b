"""FSDP2 over tensor parallelism with gradients clipped by their global norm."""
from torch.distributed.fsdp import fully_shard

from transformer import Transformer, batch_of, sequence_parallel, training

MESH = {"dp": 2, "tp": 2}


def build(mesh):
    model = Transformer()
    data = batch_of(mesh and mesh["dp"], "dp")
    if mesh is not None:
        sequence_parallel(model, mesh["tp"])
        for layer in model.layers:
            fully_shard(layer, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    return training(model, data, average=mesh is not None, clip=0.5)
