"""An embedding that is cut over the vocabulary, whose file has a row for padding first: the loader does not skip it."""
import torch
from planproof.torch import bounded
from torch import nn
from torch.nn import functional

from by_hand import Sums, share, training
from checkpoint import Loaded, checkpoint
from models import VOCABULARY, text

MESH = {"tp": 2}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, 16), nn.Linear(16, VOCABULARY, bias=False)


def build(mesh, fault=True):
    loaded = Loaded(Net())
    model, saved = loaded.model, checkpoint(loaded.model)
    model.load_state_dict(saved)
    tokens, labels = text(2, 8)
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        size = VOCABULARY // ranks
        file = torch.cat([torch.zeros(1, 16), saved["embedding.weight"]])
        start = rank * size + (0 if fault else 1)
        loaded.hold("embedding.weight", file[start:start + size], share((VOCABULARY, 16), 0, rank, ranks))

    def embed():
        if mesh is None:
            return model.embedding(tokens)
        outside = (tokens < rank * size) | (tokens >= rank * size + size)
        own = functional.embedding((tokens - rank * size).masked_fill(outside, 0), model.embedding.weight)
        return Sums.apply(own.masked_fill(outside.unsqueeze(-1), 0.0), mesh.get_group("tp"))

    def step():
        loss = functional.cross_entropy(model.head(embed()).view(-1, VOCABULARY), labels.view(-1))
        loss.backward()
        return {"loss": loss}

    return training(model, {"tokens": bounded(tokens, 0, VOCABULARY), "labels": bounded(labels, 0, VOCABULARY)}, step, loaded.parts)
