"""Training goes on after the first batch; rank 1's sampler begins with the first sample again."""
from checkpoint import dataset
from iterations import data_parallel
from layers import Mlp

MESH = {"dp": 2}
SIZE, SEEN = 6, 6


def build(mesh, fault=True):
    model, data = Mlp(), dataset()
    rest = [each[SEEN:] for each in data]
    if mesh is None:
        return data_parallel(model, mesh, said=list(range(SIZE)), data=rest, size=SIZE)
    rank, own = mesh.get_rank(), SIZE // mesh.size()
    seen = 0 if fault and rank == 1 else SEEN
    said = list(range(rank * own, (rank + 1) * own))
    return data_parallel(model, mesh, [seen + each for each in said], said, data=data, size=SIZE)
