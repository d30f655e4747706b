"""A checkpoint of four tensor parallel ranks is loaded by two: a rank puts together every second file, and not consecutive ones."""
import torch

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import Mlp, over

MESH = {"tp": 2}
FILES = 4


def build(mesh, fault=True):
    loaded = Loaded(Mlp())
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        files = list(range(FILES))
        own = files[rank::ranks] if fault else files[rank * FILES // ranks:(rank + 1) * FILES // ranks]
        for name, of, dim in (("up.weight", (HIDDEN, WIDTH), 0), ("down.weight", (WIDTH, HIDDEN), 1)):
            pieces = saved[name].chunk(FILES, dim)
            loaded.hold(name, torch.cat([pieces[each] for each in own], dim), share(of, dim, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
