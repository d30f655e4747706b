"""The checkpoint has pairs of rotated features side by side, and the model in halves of a head: the ranks load keys without permuting."""
from by_hand import share
from checkpoint import Loaded, checkpoint
from iterations import one_sequence
from layers import GroupedAttention, over

MESH = {"tp": 2}
HEAD = 4


def in_halves(weight):
    """Rows of a head: those with even numbers first."""
    return weight.unflatten(0, (-1, HEAD // 2, 2)).transpose(1, 2).flatten(0, 2)


def build(mesh, fault=True):
    loaded = Loaded(GroupedAttention(queries=4, keys=2, head=HEAD, rotate=True))
    file = checkpoint(loaded.model)
    saved = {name: in_halves(value) if name in ("q.weight", "k.weight") else value for name, value in file.items()}
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        for name, value in saved.items():
            part = share(tuple(value.shape), 1 if name == "out.weight" else 0, rank, ranks)
            loaded.hold(name, part.of_whole(file[name] if fault and name == "k.weight" else value), part)
    return one_sequence(loaded.model, loaded.parts)
