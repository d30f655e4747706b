"""The models of the programs: tiny, with two layers."""
import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    """Two layers and a squared error."""

    def __init__(self, width=8, hidden=16):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    """Causal attention of heads of width 4, so many as the projections have."""

    def __init__(self, width, head=4):
        super().__init__()
        self.head = head
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (self._heads(layer(x)) for layer in (self.q, self.k, self.v))
        length = q.shape[-2]
        mask = torch.full((length, length), float("-inf")).triu(1)
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.head ** -0.5 + mask
        out = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
        return self.o(out.flatten(-2))

    def _heads(self, x):
        return x.unflatten(-1, (-1, self.head)).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm1, self.attention = RmsNorm(width), Attention(width)
        self.norm2, self.mlp = RmsNorm(width), FeedForward(width, hidden)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """A decoder as in Llama, without rotary embedding."""

    def __init__(self, vocabulary=32, width=16, hidden=24, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width, hidden) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


VOCABULARY = 32


def batch(size=4, width=8):
    """Data of the MLPs, the same on each rank."""
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(size, width, generator=generator),
            torch.randn(size, width, generator=generator))


def text(size=2, length=8):
    """Tokens and labels, the same on each rank."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(VOCABULARY, (size, length + 1), generator=generator)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
