"""A layer that is cut by columns: every rank loads the first part of the weight."""
from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import Mlp, over

MESH = {"tp": 2}


def build(mesh, fault=True):
    loaded = Loaded(Mlp())
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        loaded.hold("up.weight", saved["up.weight"].chunk(ranks)[0 if fault else rank], share((HIDDEN, WIDTH), 0, rank, ranks))
        loaded.hold_part("down.weight", saved["down.weight"], share((WIDTH, HIDDEN), 1, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
