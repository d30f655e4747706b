"""Each rank has a part of the sequence, and learned positions for it; the positions that it is given begin at zero on each rank."""
import torch
from planproof.torch import bounded, reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import training
from checkpoint import average_gradients
from models import VOCABULARY, text

MESH = {"sp": 2}
LENGTH = 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, 16), nn.Embedding(LENGTH, 16)
        self.head = nn.Linear(16, VOCABULARY)

    def forward(self, tokens, positions):
        return self.head(functional.gelu(self.tokens(tokens) + self.positions(positions)))


def build(mesh, fault=True):
    model = Net()
    tokens, labels = (each[0].clone() for each in text(1, LENGTH))
    positions, group = torch.arange(LENGTH), None
    own = {"tokens": tokens, "labels": labels, "positions": positions}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        own = {name: each.chunk(ranks)[rank].clone() for name, each in own.items()}
        if fault:
            own["positions"] = torch.arange(LENGTH // ranks)
        group = list(range(ranks))
    tokens, labels, positions = own.values()
    limits = {"tokens": VOCABULARY, "labels": VOCABULARY, "positions": LENGTH}
    inputs = {name: bounded(each if mesh is None else shard(each, 0, rank, ranks), 0, limits[name]) for name, each in own.items()}

    def step():
        loss = functional.cross_entropy(model(tokens, positions), labels)
        loss.backward()
        if mesh is not None:
            average_gradients(model)
        return {"loss": loss if mesh is None else reduced(loss, "avg", group)}

    return training(model, inputs, step)
