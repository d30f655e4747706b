"""FSDP2 over rows that do not divide evenly: the loader pads the whole at its beginning, where FSDP2 pads the last shard."""
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from checkpoint import checkpoint, load_shards
from iterations import data_parallel

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = nn.Sequential(nn.Linear(8, 5), nn.GELU(), nn.Linear(5, 8))
    saved = checkpoint(model)
    if mesh is None:
        model.load_state_dict(saved)
        return data_parallel(model, mesh)
    rank, ranks = mesh.get_rank(), mesh.size()
    fully_shard(model, mesh=mesh)

    def cut(name, local):
        whole = saved[name]
        padding = torch.zeros(-whole.shape[0] % ranks, *whole.shape[1:])
        padded = torch.cat([padding, whole] if fault else [whole, padding])
        return padded.chunk(ranks)[rank][:local.shape[0]]

    load_shards(model, cut)
    return data_parallel(model, mesh, by_hand=False)
