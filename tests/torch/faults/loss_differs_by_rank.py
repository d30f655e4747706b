"""A result is made whole and taken as a plain tensor, and the rank's own rows go into its loss: without grad_placements, the
gradient is taken to be the same on all ranks (PyTorch issue 153016)."""
import torch
from planproof.torch import Training, reduced
from torch import nn
from torch.distributed.tensor import Partial, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn import functional

MESH = {"tp": 2}


def build(mesh, fault=True):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
    x, y = torch.randn(4, 8), torch.randn(4, 16)
    if mesh is not None:
        rank = mesh.get_local_rank("tp")
        parallelize_module(model, mesh, {"0": ColwiseParallel(use_local_output=False)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        if mesh is None:
            loss = functional.mse_loss(model(x), y, reduction="sum")
            loss.backward()
        else:
            whole = model(x).redistribute(placements=[Replicate()])
            whole = whole.to_local() if fault else whole.to_local(grad_placements=[Partial()])
            loss = functional.mse_loss(whole.chunk(2)[rank], y.chunk(2)[rank], reduction="sum")
            loss.backward()
            loss = reduced(loss, "sum")
        optimizer.step()
        return {"loss": loss}

    return Training(step, model, optimizer, {"x": x, "y": y})
