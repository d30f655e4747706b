"""A norm with frozen statistics between two cut layers: the ranks load each other's part of the running mean."""
import torch
from torch import nn

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import FrozenNorm, Parallel, over

MESH = {"tp": 2}
RELATIONS = {"norm.running_*": {"dim": 0, "axis": "tp"}}


class Net(Parallel):
    def __init__(self):
        super().__init__()
        self.up, self.norm = nn.Linear(WIDTH, HIDDEN, bias=False), FrozenNorm(HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.leave(self.down(torch.relu(self.norm(self.up(self.enter(x))))))


def build(mesh, fault=True):
    loaded = Loaded(Net())
    model, saved = loaded.model, checkpoint(loaded.model)
    saved["norm.running_var"] = saved["norm.running_var"].square() + 0.5
    model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(model, mesh.get_group("tp"))
        for name, of, dim in (("up.weight", (HIDDEN, WIDTH), 0), ("norm.weight", (HIDDEN,), 0), ("norm.bias", (HIDDEN,), 0),
                              ("down.weight", (WIDTH, HIDDEN), 1)):
            loaded.hold_part(name, saved[name], share(of, dim, rank, ranks))
        mean, variance = (saved[f"norm.running_{word}"].chunk(ranks) for word in ("mean", "var"))
        model.norm.running_mean = mean[1 - rank if fault else rank].clone()
        model.norm.running_var = variance[rank].clone()
    return whole_batch(model, loaded.parts)
