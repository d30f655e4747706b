"""DistributedDataParallel over 64 ranks, of which two are recorded. Parameters are whole on each."""
from torch.nn.parallel import DistributedDataParallel

from fsdp2_dp64 import WIDTH, training
from models import Mlp

MESH = {"dp": 64}
RANKS = [0, 1]


def build(mesh):
    model = Mlp(WIDTH, 16)
    return training(model if mesh is None else DistributedDataParallel(model), mesh)
