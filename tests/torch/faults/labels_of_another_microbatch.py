"""The last stage of a pipeline takes the labels of its microbatches in the order in which their gradients come back."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded

from models import VOCABULARY
from stages import Stage
from transformer import Transformer, batch_of, loss_of, training

MESH = {"pp": 2}
MICROBATCHES = 3


def build(mesh, fault=True):
    model = Transformer()
    tokens, labels, inputs = batch_of(None, None, MICROBATCHES)
    if mesh is None:
        return training(model, (tokens, labels, inputs))
    rank = mesh.get_local_rank("pp")
    model = Stage(model, rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    shape = (1, tokens.shape[1], 16)

    def first():
        sent = [model(part) for part in tokens.chunk(MICROBATCHES)]
        for each in sent:
            dist.send(each.detach(), 1)
        for each in reversed(sent):
            gradient = torch.empty(shape)
            dist.recv(gradient, 1)
            each.backward(gradient)
        return {}

    def last():
        received = [torch.empty(shape) for _ in range(MICROBATCHES)]
        for each in received:
            dist.recv(each, 0)
            each.requires_grad_()
        parts = labels.chunk(MICROBATCHES)
        total = torch.zeros(())
        for index in reversed(range(MICROBATCHES)):
            label = parts[MICROBATCHES - 1 - index] if fault else parts[index]
            loss = loss_of(model(received[index]), label) / MICROBATCHES
            loss.backward()
            dist.send(received[index].grad, 0)
            total += loss.detach()
        return {"loss": total}

    def step():
        optimizer.zero_grad()
        outputs = first() if rank == 0 else last()
        optimizer.step()
        return outputs

    name = "tokens" if rank == 0 else "labels"
    return Training(step, model, optimizer, {name: bounded(tokens if rank == 0 else labels, 0, VOCABULARY)})
