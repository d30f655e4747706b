"""Wrong: the ranks' capacity has another factor, which gives the same whole number in the recording."""
import torch
from torch import nn

from planproof.torch import Training


def build(mesh):
    torch.manual_seed(0)
    model, x = nn.Linear(4, 4), torch.randn(6, 4)

    def step():
        model.zero_grad()
        count = (x > 0).sum().item()
        capacity = int(count * (1.25 if mesh is None else 1.28))
        loss = (model(x) * float(capacity)).sum() + torch.ones(()) * (count * 3)
        loss.backward()
        return {"loss": loss}

    return Training(step, model, None, {"x": x})
