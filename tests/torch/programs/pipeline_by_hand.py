"""Two stages and three microbatches, 1F1B written with send and receive."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded

from models import VOCABULARY
from stages import Stage
from transformer import Transformer, batch_of, loss_of, training

MESH = {"pp": 2}
MICROBATCHES = 3


def build(mesh):
    model = Transformer()
    tokens, labels, inputs = batch_of(None, None, MICROBATCHES)
    if mesh is None:
        return training(model, (tokens, labels, inputs))
    rank = mesh.get_local_rank("pp")
    model = Stage(model, rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    shape = (1, tokens.shape[1], 16)

    def first():
        sent, works = [], []

        def forward(part):
            sent.append(model(part))
            works.append(dist.isend(sent[-1].detach(), 1))

        def backward():
            gradient = torch.empty(shape)
            dist.recv(gradient, 1)
            works.pop(0).wait()
            sent.pop(0).backward(gradient)

        parts = tokens.chunk(MICROBATCHES)
        forward(parts[0])
        for part in parts[1:]:
            forward(part)
            backward()
        backward()
        return {}

    def last():
        total = torch.zeros(())
        for part in labels.chunk(MICROBATCHES):
            received = torch.empty(shape)
            dist.recv(received, 0)
            received.requires_grad_()
            loss = loss_of(model(received), part) / MICROBATCHES
            loss.backward()
            dist.send(received.grad, 0)
            total += loss.detach()
        return {"loss": total}

    def step():
        optimizer.zero_grad()
        outputs = first() if rank == 0 else last()
        optimizer.step()
        return outputs

    name = "tokens" if rank == 0 else "labels"
    data = bounded(tokens if rank == 0 else labels, 0, VOCABULARY)
    return Training(step, model, optimizer, {name: data})
