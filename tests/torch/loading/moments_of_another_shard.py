"""FSDP2 goes on with the optimizer's averages from a checkpoint: each rank loads its neighbour's shard of the second moments."""
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from checkpoint import checkpoint
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = nn.Sequential(nn.Linear(8, 8), Mlp())
    first, second = checkpoint(model, seed=8), checkpoint(model, seed=9)
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    training = data_parallel(model, mesh, by_hand=False)
    for name, parameter in model.named_parameters():
        state = {"step": torch.tensor(4.0, dtype=torch.float32), "exp_avg": torch.zeros_like(parameter),
                 "exp_avg_sq": torch.zeros_like(parameter)}
        for word, whole, moved in (("exp_avg", first[name], 0), ("exp_avg_sq", second[name].square(), int(fault))):
            if mesh is None:
                state[word].copy_(whole)
            else:
                state[word].to_local().copy_(whole.chunk(2)[(mesh.get_rank() + moved) % 2])
        training.optimizer.state[parameter] = state
    return training
