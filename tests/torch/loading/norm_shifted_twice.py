"""The checkpoint has scales of a norm less 1; the ranks load from a converted one, whose scales are whole, and add 1 again."""
from torch import nn

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import Mlp, over
from models import RmsNorm

MESH = {"tp": 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = RmsNorm(WIDTH), Mlp()

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def build(mesh, fault=True):
    loaded = Loaded(Net())
    saved = checkpoint(loaded.model)
    saved["norm.weight"] = saved["norm.weight"] + 1
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        loaded.hold("norm.weight", saved["norm.weight"] + (1 if fault else 0))
        loaded.hold_part("mlp.up.weight", saved["mlp.up.weight"], share((HIDDEN, WIDTH), 0, rank, ranks))
        loaded.hold_part("mlp.down.weight", saved["mlp.down.weight"], share((WIDTH, HIDDEN), 1, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
