"""Two ranks share each head of keys and values: it is that of rank // 2, and the loader takes rank % 2."""
import torch.distributed as dist

from by_hand import rows, share, training
from checkpoint import Loaded, checkpoint, dataset
from layers import GroupedAttention, over
from torch.nn import functional

MESH = {"tp": 4}
KEYS, HEAD = 2, 4


def build(mesh, fault=True):
    loaded = Loaded(GroupedAttention(queries=4, keys=KEYS, head=HEAD))
    saved = checkpoint(loaded.model)
    loaded.model.load_state_dict(saved)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        over(loaded.model, mesh.get_group("tp"))
        sharers = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
        loaded.hold_part("q.weight", saved["q.weight"], share((16, 16), 0, rank, ranks))
        loaded.hold_part("out.weight", saved["out.weight"], share((16, 16), 1, rank, ranks))
        for name in ("k.weight", "v.weight"):
            held = rank % KEYS if fault else rank * KEYS // ranks
            loaded.hold(name, saved[name].chunk(KEYS)[held], rows((KEYS * HEAD, 16), 0, [[rank * KEYS // ranks * HEAD, HEAD]]))
    x, y = dataset(6, 16)

    def step():
        loss = functional.mse_loss(loaded.model(x), y)
        loss.backward()
        if mesh is not None:
            for layer in (loaded.model.k, loaded.model.v):
                dist.all_reduce(layer.weight.grad, group=sharers)
        return {"loss": loss}

    return training(loaded.model, {"x": x, "y": y}, step, loaded.parts)
