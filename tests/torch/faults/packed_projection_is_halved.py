"""A packed projection of queries, keys and values, of which each rank takes a half as it lies in memory: rank 0 has the
queries and half of the keys."""
import torch
from torch import nn
from torch.nn import functional

from by_hand import Sums, SumsGradient, cut, rows, share, training

MESH = {"tp": 2}
WIDTH, HEAD = 16, 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (-1, HEAD)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * HEAD ** -0.5, -1)
        return functional.linear(torch.matmul(weights, v).transpose(1, 2).flatten(-2), self.out.weight)


def build(mesh, fault=True):
    model, parts = Net(), {}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("tp"), mesh.size(), mesh.get_group("tp")
        size, of = WIDTH // ranks, (3 * WIDTH, WIDTH)
        parts = {"qkv.weight": share(of, 0, rank, ranks) if fault else
                               rows(of, 0, [[part * WIDTH + rank * size, size] for part in range(3)]),
                 "out.weight": share((WIDTH, WIDTH), 1, rank, ranks)}
        model.qkv.weight, model.out.weight = (cut(model.get_parameter(name), part) for name, part in parts.items())
    x, y = torch.randn(2, 6, WIDTH), torch.randn(2, 6, WIDTH)

    def step():
        h = model(x if mesh is None else SumsGradient.apply(x, group))
        loss = functional.mse_loss(h if mesh is None else Sums.apply(h, group), y)
        loss.backward()
        return {"loss": loss}

    return training(model, {"x": x, "y": y}, step, parts)
