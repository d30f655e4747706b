"""The checkpoint has kernels as input times output; the ranks load a square one that is cut by rows without turning it."""
from by_hand import share
from checkpoint import Loaded, checkpoint, packed
from iterations import one_sequence
from layers import PackedAttention, over

MESH = {"tp": 2}


def build(mesh, fault=True):
    loaded = Loaded(PackedAttention())
    saved = checkpoint(loaded.model)
    kernel = saved["out.weight"].t().contiguous()
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        loaded.hold_part("qkv.weight", saved["qkv.weight"], packed((48, 16), 3, rank, ranks))
        part = share((16, 16), 1, rank, ranks)
        loaded.hold("out.weight", part.of_whole(kernel if fault else kernel.t()), part)
    return one_sequence(loaded.model, loaded.parts)
