"""Sequence parts whose losses are added up, where each rank leaves out the last position of its part: the reference leaves out
only the last of the sequence."""
import torch
import torch.distributed as dist
from planproof.torch import bounded, reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import training
from models import VOCABULARY, text

MESH = {"sp": 2}
LENGTH = 8


def build(mesh, fault=True):
    model = nn.Sequential(nn.Embedding(VOCABULARY, 16), nn.Linear(16, VOCABULARY, bias=False))
    tokens, labels = text(2, LENGTH)
    inputs = {"tokens": bounded(tokens, 0, VOCABULARY), "labels": bounded(labels, 0, VOCABULARY)}
    last = True
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("sp"), mesh.size()
        last = rank == ranks - 1
        tokens, labels = (each.chunk(ranks, 1)[rank].clone() for each in (tokens, labels))
        inputs = {"tokens": bounded(shard(tokens, 1, rank, ranks), 0, VOCABULARY),
                  "labels": bounded(shard(labels, 1, rank, ranks), 0, VOCABULARY)}

    def step():
        logits, wanted = model(tokens), labels
        if fault or last:
            logits, wanted = logits[:, :-1], wanted[:, :-1]
        total = functional.cross_entropy(logits.reshape(-1, VOCABULARY), wanted.reshape(-1), reduction="sum")
        number = torch.full((), float(wanted.numel()))
        if mesh is not None:
            dist.all_reduce(number)
        loss = total / number
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad)
        return {"loss": reduced(loss.detach(), "sum")}

    return training(model, inputs, step)
