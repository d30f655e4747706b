"""An MLP with its first layer cut by columns and its second by rows, behind a norm: the gradient that goes into the norm is
not summed over the ranks."""
from torch import nn
from torch.nn import functional

from by_hand import Sums, SumsGradient, cut, share, training
from models import RmsNorm, batch

MESH = {"tp": 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RmsNorm(8)
        self.up, self.down = nn.Linear(8, 16, bias=False), nn.Linear(16, 8, bias=False)


def build(mesh, fault=True):
    model, parts = Net(), {}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("tp"), mesh.size(), mesh.get_group("tp")
        parts = {"up.weight": share((16, 8), 0, rank, ranks), "down.weight": share((8, 16), 1, rank, ranks)}
        model.up.weight, model.down.weight = (cut(model.get_parameter(name), part) for name, part in parts.items())
    x, y = batch()

    def step():
        h = model.norm(x)
        if mesh is not None and not fault:
            h = SumsGradient.apply(h, group)
        h = model.down(functional.gelu(model.up(h)))
        if mesh is not None:
            h = Sums.apply(h, group)
        loss = functional.mse_loss(h, y)
        loss.backward()
        return {"loss": loss}

    return training(model, {"x": x, "y": y}, step, parts)
