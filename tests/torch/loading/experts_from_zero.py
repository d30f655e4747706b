"""Each rank has some of the experts; the loader counts them from zero on each rank."""
from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import whole_batch
from layers import Experts, over

MESH = {"ep": 2}
EXPERTS = 4


def build(mesh, fault=True):
    loaded = Loaded(Experts(EXPERTS))
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("ep"))
        own = EXPERTS // ranks
        loaded.model.start = rank * own
        for name, of in (("up", (EXPERTS, WIDTH, HIDDEN)), ("down", (EXPERTS, HIDDEN, WIDTH))):
            first = 0 if fault else rank * own
            loaded.hold(name, saved[name][first:first + own], share(of, 0, rank, ranks))
    return whole_batch(loaded.model, loaded.parts)
