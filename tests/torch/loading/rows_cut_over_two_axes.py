"""FSDP2 over tensor parallelism cuts rows twice, first over tp and then over dp; the loader takes consecutive pieces in the order
of ranks."""
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from checkpoint import checkpoint, load_shards
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2, "tp": 2}


def build(mesh, fault=True):
    model = Mlp()
    saved = checkpoint(model)
    if mesh is None:
        model.load_state_dict(saved)
        return data_parallel(model, mesh)
    parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    dp, tp = mesh.get_coordinate()

    def cut(name, _):
        if name == "down.weight":
            return saved[name].chunk(2, 0)[dp].chunk(2, 1)[tp]
        return saved[name].chunk(4)[2 * dp + tp if fault else 2 * tp + dp]

    load_shards(model, cut)
    return data_parallel(model, mesh, by_hand=False)
