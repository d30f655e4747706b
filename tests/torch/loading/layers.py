"""Layers that compute a part over the ranks of a group, and all of it if they have no group."""
import torch
from torch import nn
from torch.nn import functional

from by_hand import Sums, SumsGradient
from checkpoint import HIDDEN, WIDTH


class Parallel(nn.Module):
    """`group`: the ranks among which the features within the layer are cut."""

    group = None

    def enter(self, x):
        return x if self.group is None else SumsGradient.apply(x, self.group)

    def leave(self, x):
        return x if self.group is None else Sums.apply(x, self.group)


def over(model, group):
    """The model, with its parallel layers over a group."""
    for module in model.modules():
        if isinstance(module, Parallel):
            module.group = group
    return model


class Mlp(Parallel):
    def __init__(self, width=WIDTH, hidden=HIDDEN):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.leave(self.down(functional.gelu(self.up(self.enter(x)))))


class GatedMlp(Parallel):
    """Gate and up projection in one weight."""

    def __init__(self, width=WIDTH, hidden=HIDDEN):
        super().__init__()
        self.gate_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(self.enter(x)).chunk(2, -1)
        return self.leave(self.down(functional.silu(gate) * up))


def attend(q, k, v):
    """Heads first: causal attention."""
    mask = torch.full((q.shape[-2], k.shape[-2]), float("-inf")).triu(1)
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5 + mask
    return torch.matmul(torch.softmax(scores, -1), v).transpose(-3, -2).flatten(-2)


def heads(x, width):
    return x.unflatten(-1, (-1, width)).transpose(-3, -2)


class PackedAttention(Parallel):
    """q, k and v in one weight."""

    def __init__(self, width=2 * WIDTH, head=4):
        super().__init__()
        self.head = head
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x):
        return self.leave(self.out(attend(*(heads(each, self.head) for each in self.qkv(self.enter(x)).chunk(3, -1)))))


class GroupedAttention(Parallel):
    """Several heads of queries share a head of keys and values; positions by rotation where there is a table of angles."""

    def __init__(self, queries=4, keys=2, head=4, rotate=False):
        super().__init__()
        self.head, self.rotate = head, rotate
        width = queries * head
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, keys * head, bias=False) for _ in range(2))

    def forward(self, x):
        x = self.enter(x)
        q, k, v = (heads(layer(x), self.head) for layer in (self.q, self.k, self.v))
        if self.rotate:
            q, k = rotated(q), rotated(k)
        k, v = (each.repeat_interleave(q.shape[-3] // each.shape[-3], -3) for each in (k, v))
        return self.leave(self.out(attend(q, k, v)))


def rotated(x):
    """Rotates features i and i + half of each head."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2]).unsqueeze(1) * torch.tensor([0.5 ** i for i in range(half)])
    first, second = x.split(half, -1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class FrozenNorm(nn.Module):
    """Normalizes each feature by statistics that are loaded and stay."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x):
        return (x - self.running_mean) * torch.rsqrt(self.running_var + 1e-5) * self.weight + self.bias


class Experts(Parallel):
    """A dense mixture: each expert sees each token. `start`: the first expert of this rank."""

    def __init__(self, experts=4, width=WIDTH, hidden=HIDDEN):
        super().__init__()
        self.start = 0
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, hidden))
        self.down = nn.Parameter(torch.randn(experts, hidden, width))

    def forward(self, x):
        gates = self.enter(torch.softmax(self.router(x), -1))[:, self.start:self.start + self.up.shape[0]]
        each = torch.bmm(functional.gelu(torch.bmm(self.enter(x).expand(self.up.shape[0], -1, -1), self.up)), self.down)
        return self.leave((each * gates.t().unsqueeze(-1)).sum(0))
