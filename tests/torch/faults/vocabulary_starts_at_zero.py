"""An embedding cut over the vocabulary, where each rank looks tokens up as if its part began at 0."""
import torch
from planproof.torch import bounded
from torch import nn
from torch.nn import functional

from by_hand import Sums, cut, share, training
from models import VOCABULARY, text

MESH = {"tp": 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, 16), nn.Linear(16, VOCABULARY, bias=False)


def build(mesh, fault=True):
    model, parts = Net(), {}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("tp"), mesh.size(), mesh.get_group("tp")
        parts = {"embedding.weight": share((VOCABULARY, 16), 0, rank, ranks)}
        model.embedding.weight = cut(model.embedding.weight, parts["embedding.weight"])
    tokens, labels = text(2, 8)

    def embed():
        if mesh is None:
            return model.embedding(tokens)
        size = VOCABULARY // ranks
        start = 0 if fault else rank * size
        outside = (tokens < start) | (tokens >= start + size)
        own = functional.embedding((tokens - start).masked_fill(outside, 0), model.embedding.weight)
        return Sums.apply(own.masked_fill(outside.unsqueeze(-1), 0.0), group)

    def step():
        loss = functional.cross_entropy(model.head(embed()).view(-1, VOCABULARY), labels.view(-1))
        loss.backward()
        return {"loss": loss}

    return training(model, {"tokens": bounded(tokens, 0, VOCABULARY), "labels": bounded(labels, 0, VOCABULARY)}, step,
                    parts)
