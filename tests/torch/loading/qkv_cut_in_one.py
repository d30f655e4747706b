"""q, k and v are one weight: each rank loads a consecutive piece of it, and not its heads of q, of k and of v."""
from by_hand import share
from checkpoint import Loaded, checkpoint, packed
from iterations import one_sequence
from layers import PackedAttention, over

MESH = {"tp": 2}


def build(mesh, fault=True):
    loaded = Loaded(PackedAttention())
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        part = packed((48, 16), 3, rank, ranks)
        loaded.hold("qkv.weight", saved["qkv.weight"].chunk(ranks)[rank] if fault else part.of_whole(saved["qkv.weight"]), part)
        loaded.hold_part("out.weight", saved["out.weight"], share((16, 16), 1, rank, ranks))
    return one_sequence(loaded.model, loaded.parts)
