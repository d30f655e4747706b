"""Tensor and sequence parallelism with gradients clipped by the norm of what the rank holds of them."""
import torch
from planproof.torch import Training
from torch.distributed.tensor import DTensor

from transformer import Transformer, batch_of, loss_of, sequence_parallel, training

MESH = {"tp": 2}
CLIP = 0.5


def build(mesh, fault=True):
    model = Transformer()
    if mesh is not None:
        sequence_parallel(model, mesh)
    if mesh is None or not fault:
        return training(model, clip=CLIP)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = batch_of(None, None)

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(tokens), labels)
        loss.backward()
        own = [each.grad.to_local() if isinstance(each.grad, DTensor) else each.grad for each in model.parameters()]
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(each) for each in own]))
        for each in own:
            each.mul_((CLIP / (norm + 1e-6)).clamp(max=1.0))
        optimizer.step()
        return {"loss": loss, "norm": norm}

    return Training(step, model, optimizer, inputs)
