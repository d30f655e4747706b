"""One microbatch through stages: each receives, computes, sends, and passes the gradient back."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded

from models import VOCABULARY, text
from transformer import loss_of
from transformer import training as whole_training

WIDTH = 16


def whole(model):
    """The single-process program."""
    tokens, labels = text()
    return whole_training(model, (tokens, labels, {"tokens": bounded(tokens, 0, VOCABULARY),
                                                   "labels": bounded(labels, 0, VOCABULARY)}))


def staged(model, stage, stages, labels=None, after_backward=lambda: None):
    """The program of one stage; `labels` are what the last one reads, those of the batch if none are given."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, true_labels = text()
    labels = true_labels if labels is None else labels
    first, last = stage == 0, stage == stages - 1

    def step():
        optimizer.zero_grad()
        if first:
            x = tokens
        else:
            x = torch.empty(*tokens.shape, WIDTH)
            dist.recv(x, stage - 1)
            x.requires_grad_()
        y = model(x)
        outputs = {}
        if last:
            outputs["loss"] = loss_of(y, labels)
            outputs["loss"].backward()
        else:
            dist.send(y.detach(), stage + 1)
            gradient = torch.empty_like(y)
            dist.recv(gradient, stage + 1)
            y.backward(gradient)
        if not first:
            dist.send(x.grad, stage - 1)
        after_backward()
        optimizer.step()
        return outputs

    inputs = {"tokens": bounded(tokens, 0, VOCABULARY)} if first else {}
    if last:
        inputs["labels"] = bounded(labels, 0, VOCABULARY)
    return Training(step, model, optimizer, inputs)
