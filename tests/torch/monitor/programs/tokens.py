"""Sequences of a Markov chain for the tiny transformer; the chain is the same in all runs."""
import contextlib

import torch

from models import VOCABULARY


class Tokens:
    def __init__(self, seed, size=4, length=8):
        chain = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(7))
        self.chain, self.size, self.length = torch.softmax(chain * 2, -1), size, length
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self):
        x = torch.randint(VOCABULARY, (self.size, 1), generator=self.generator)
        for _ in range(self.length):
            x = torch.cat([x, torch.multinomial(self.chain[x[:, -1]], 1, generator=self.generator)], 1)
        return x[:, :-1].contiguous(), x[:, 1:].contiguous()


@contextlib.contextmanager
def masks_of(dtype):
    """The transformer's masks have the default type: that of its parameters in its forward."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
