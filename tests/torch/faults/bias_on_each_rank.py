"""An MLP cut over its hidden features, whose second bias is added on each rank before the sum."""
import torch
from torch.nn import functional

from by_hand import Sums, cut, share, training
from models import Mlp, batch

MESH = {"tp": 2}


def build(mesh, fault=True):
    model, parts = Mlp(), {}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("tp"), mesh.size(), mesh.get_group("tp")
        parts = {"up.weight": share((16, 8), 0, rank, ranks), "up.bias": share((16,), 0, rank, ranks),
                 "down.weight": share((8, 16), 1, rank, ranks)}
        model.up.weight, model.up.bias, model.down.weight = (
            cut(model.get_parameter(name), part) for name, part in parts.items())
    x, y = batch()

    def step():
        h = functional.gelu(model.up(x))
        if mesh is None:
            h = model.down(h)
        elif fault:
            h = Sums.apply(functional.linear(h, model.down.weight, model.down.bias), group)
        else:
            h = Sums.apply(torch.matmul(h, model.down.weight.t()), group) + model.down.bias
        loss = functional.mse_loss(h, y)
        loss.backward()
        return {"loss": loss}

    return training(model, {"x": x, "y": y}, step, parts)
