"""Data parallelism beside tensor parallelism: the sampler is asked for the part of the rank, and not of its coordinate along dp."""
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.data.distributed import DistributedSampler

from checkpoint import dataset
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2, "tp": 2}
SIZE = 8


def build(mesh, fault=True):
    model, data = Mlp(), dataset()
    if mesh is None:
        return data_parallel(model, mesh, said=list(range(SIZE)))
    parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    dp, ranks = mesh.get_local_rank("dp"), mesh["dp"].size()
    sampler = DistributedSampler(data[0], ranks, mesh.get_rank() % ranks if fault else dp, shuffle=False)
    return data_parallel(model, mesh, list(sampler)[:SIZE // ranks], list(range(dp, SIZE, ranks)))
