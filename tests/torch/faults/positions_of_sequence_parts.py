"""Sequence parallelism by Ulysses' all-to-all, where each rank numbers the positions of its part from 0."""
import torch
import torch.distributed as dist
from planproof.torch import bounded, reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import training
from models import VOCABULARY, text

MESH = {"sp": 2}
WIDTH, HEAD, LENGTH = 16, 4, 8


class Exchanges(torch.autograd.Function):
    """Parts along one dimension are sent to the ranks, and what they sent is put one after another along another."""

    @staticmethod
    def forward(ctx, x, scatter, gather, group):
        ctx.dims, ctx.group = (gather, scatter), group
        sent = [each.contiguous() for each in x.chunk(dist.get_world_size(group), scatter)]
        received = [torch.empty_like(each) for each in sent]
        dist.all_to_all(received, sent, group=group)
        return torch.cat(received, gather)

    @staticmethod
    def backward(ctx, gradient):
        return Exchanges.apply(gradient, *ctx.dims, ctx.group), None, None, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, start, to_heads, to_sequence):
        x = self.embedding(tokens) + self.positions(torch.arange(start, start + tokens.shape[1]))
        q, k, v = (to_heads(each.unflatten(-1, (-1, HEAD))) for each in self.qkv(x).chunk(3, -1))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * HEAD ** -0.5 + mask, -1)
        x = x + self.out(to_sequence(torch.matmul(weights, v).transpose(1, 2)).flatten(-2))
        return self.head(x)


def build(mesh, fault=True):
    model = Net()
    tokens, labels = text(2, LENGTH)
    start, to_heads, to_sequence = 0, lambda x: x, lambda x: x
    inputs = {"tokens": bounded(tokens, 0, VOCABULARY), "labels": bounded(labels, 0, VOCABULARY)}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("sp"), mesh.size(), mesh.get_group("sp")
        tokens, labels = (each.chunk(ranks, 1)[rank].clone() for each in (tokens, labels))
        inputs = {"tokens": bounded(shard(tokens, 1, rank, ranks), 0, VOCABULARY),
                  "labels": bounded(shard(labels, 1, rank, ranks), 0, VOCABULARY)}
        start = 0 if fault else rank * LENGTH // ranks

        def to_heads(x):
            return Exchanges.apply(x, 2, 1, group)

        def to_sequence(x):
            return Exchanges.apply(x, 1, 2, group)

    def step():
        logits = model(tokens, start, to_heads, to_sequence)
        loss = functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad, dist.ReduceOp.AVG)
        return {"loss": reduced(loss, "avg")}

    return training(model, inputs, step)
