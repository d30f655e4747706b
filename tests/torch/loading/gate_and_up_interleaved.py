"""The checkpoint has rows of gate and up projection in turn; the ranks' loader takes its first half for the gate."""
import torch

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint, packed
from iterations import whole_batch
from layers import GatedMlp, over

MESH = {"tp": 2}


def build(mesh, fault=True):
    loaded = Loaded(GatedMlp())
    saved = checkpoint(loaded.model)
    file = saved["gate_up.weight"]
    gate, up = file[0::2], file[1::2]
    saved["gate_up.weight"] = torch.cat([gate, up])
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        if fault:
            gate, up = file.chunk(2)
        loaded.hold("gate_up.weight", torch.cat([each.chunk(ranks)[rank] for each in (gate, up)]),
                    packed((2 * HIDDEN, WIDTH), 2, rank, ranks))
        loaded.hold_part("down.weight", saved["down.weight"], share((WIDTH, HIDDEN), 1, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
