"""A low-rank adapter is merged into the weight while a rank loads its part; the ranks forget the adapter's scale."""
import torch

from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import Mlp, over

MESH = {"tp": 2}
LOW, ALPHA = 2, 5.0


def build(mesh, fault=True):
    loaded = Loaded(Mlp())
    saved = checkpoint(loaded.model)
    generator = torch.Generator().manual_seed(12)
    down, up = torch.randn(LOW, WIDTH, generator=generator), torch.randn(HIDDEN, LOW, generator=generator)
    base = saved["up.weight"]
    saved["up.weight"] = base + ALPHA / LOW * (up @ down)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        own = up.chunk(ranks)[rank] * (1.0 if fault else ALPHA / LOW)
        loaded.hold("up.weight", base.chunk(ranks)[rank] + own @ down, share((HIDDEN, WIDTH), 0, rank, ranks))
        loaded.hold_part("down.weight", saved["down.weight"], share((WIDTH, HIDDEN), 1, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
