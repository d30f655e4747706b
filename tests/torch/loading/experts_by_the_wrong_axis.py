"""Experts over ep beside data parallelism: the loader takes the coordinate along dp for that along ep."""
from by_hand import share
from checkpoint import HIDDEN, WIDTH, Loaded, checkpoint
from iterations import data_parallel
from layers import Experts, over

MESH = {"dp": 2, "ep": 2}
EXPERTS = 4


def build(mesh, fault=True):
    loaded = Loaded(Experts(EXPERTS))
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        ep, ranks = mesh.get_local_rank("ep"), mesh["ep"].size()
        over(loaded.model, mesh.get_group("ep"))
        loaded.model.start = ep * EXPERTS // ranks
        coordinate = mesh.get_local_rank("dp") if fault else ep
        for name, of in (("up", (EXPERTS, WIDTH, HIDDEN)), ("down", (EXPERTS, HIDDEN, WIDTH))):
            loaded.hold(name, saved[name].chunk(ranks)[coordinate], share(of, 0, ep, ranks))
    return data_parallel(loaded.model, mesh, parts=loaded.parts)
