"""FSDP2 over 64 ranks of an MLP that two ranks share by tensor parallelism. The first four of 128 ranks are recorded."""
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from fsdp2_dp64 import WIDTH, training
from models import Mlp

MESH = {"dp": 64, "tp": 2}
RANKS = [0, 1, 2, 3]


def build(mesh):
    model = Mlp(WIDTH, 2 * WIDTH)
    if mesh is None:
        return training(model, None)
    parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    return training(model, mesh["dp"])
