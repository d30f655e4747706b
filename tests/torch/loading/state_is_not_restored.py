"""The optimizer's state is restored in one process; ranks forget to, and their optimizers make one in their first step."""
import torch
from torch.nn.parallel import DistributedDataParallel

from checkpoint import checkpoint
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = Mlp()
    saved = checkpoint(model)
    training = data_parallel(model if mesh is None else DistributedDataParallel(model), mesh, by_hand=False)
    if mesh is not None and fault:
        return training
    for name, parameter in model.named_parameters():
        training.optimizer.state[parameter] = {
            "step": torch.tensor(9.0, dtype=torch.float32),
            "exp_avg": saved[name].clone(),
            "exp_avg_sq": saved[name].square()}
    return training
