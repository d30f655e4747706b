"""Small monitored runs for tests of the tracer, and what their journals say."""
import os

import torch
import torch.nn.functional as F
from torch import nn

from journal_reader import Journal
from planproof.torch import monitor


class Tied(nn.Module):
    """An embedding, a layer with dropout, and a head that is the embedding."""

    def __init__(self, width=8, words=11):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layer, self.drop = nn.Linear(width, width), nn.Dropout(0.1)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.drop(torch.tanh(self.layer(self.words(x)))))


def batch(step, words=11):
    generator = torch.Generator().manual_seed(step)
    x = torch.randint(0, words, (2, 6), generator=generator)
    return x[:, :-1], x[:, 1:]


def loss_of(model, step, factor=1.0):
    x, y = batch(step)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten()) * factor


def train_step(model, optimizer, step, clip=None):
    optimizer.zero_grad()
    loss = loss_of(model, step)
    loss.backward()
    if clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return float(loss.detach())


def journal(directory, rank=0):
    return Journal(os.path.join(directory, f"rank{rank:05d}.journal"))


def monitored(directory, steps=3, every=1, make=None, step=None, model=None, **options):
    """The journal of a run of `steps` steps."""
    torch.manual_seed(0)
    model = model if model is not None else Tied()
    optimizer = make(model) if make else torch.optim.AdamW(model.parameters(), lr=1e-2)
    with monitor(model, optimizer, directory, every=every, on_alarm=None, **options) as running:
        for number in range(steps):
            if step is None:
                train_step(model, optimizer, number, clip=0.5)
            else:
                step(model, optimizer, number, running)
    return journal(directory)
