"""Gate and up projection are one weight; the loader puts a rank's part of the up projection first."""
import torch

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint, packed
from iterations import whole_batch
from layers import GatedMlp, over

MESH = {"tp": 2}


def build(mesh, fault=True):
    loaded = Loaded(GatedMlp())
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        gate, up = (each.chunk(ranks)[rank] for each in saved["gate_up.weight"].chunk(2))
        loaded.hold("gate_up.weight", torch.cat([up, gate] if fault else [gate, up]), packed((2 * HIDDEN, WIDTH), 2, rank, ranks))
        loaded.hold_part("down.weight", saved["down.weight"], share((WIDTH, HIDDEN), 1, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
