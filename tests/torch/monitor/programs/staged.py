"""A pipeline of two stages by hand on two ranks: two micro-batches a step, all forwards before all backwards."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

RANKS = 2
OPTIMIZER = "adamw"

WIDTH, BATCH, CLASSES, MICRO = 16, 8, 6, 2


class Stage:
    """What one rank does of a step: the first stage sends activations, the last one has the loss and sends gradients back."""

    def __init__(self, run, model):
        self.run, self.model, self.first = run, model, run.rank == 0

    def forward(self, inputs, labels):
        """What backward is to start from, and the input that the previous stage waits for the gradient of."""
        if self.first:
            result = self.model(inputs)
            dist.send(result.detach(), 1)
            return result, None
        received = torch.empty(len(labels), WIDTH)
        dist.recv(received, 0)
        received.requires_grad_(True)
        loss = functional.cross_entropy(self.model(received), labels) / MICRO
        self.run.note(loss)
        return loss, received

    def backward(self, root, received):
        if self.first:
            gradient = torch.empty_like(root)
            dist.recv(gradient, 1)
            root.backward(gradient)
        else:
            root.backward()
            dist.send(received.grad, 0)


def clip(model):
    """By the norm of all stages' gradients."""
    square = nn.utils.get_total_norm([each.grad for each in model.parameters()]).pow(2)
    dist.all_reduce(square)
    nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, square.sqrt())


def train(run):
    torch.manual_seed(run.seed)
    stages = [nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH)),
              nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, CLASSES))]
    stage = Stage(run, stages[run.rank])
    optimizer = run.optimizer(stage.model.parameters())
    centres = torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(5))
    data = torch.Generator().manual_seed(run.data_seed(0))
    with run.monitor(stage.model, optimizer):
        for _ in range(run.steps):
            optimizer.zero_grad()
            kept = []
            for _ in range(MICRO):
                labels = torch.randint(CLASSES, (BATCH,), generator=data)
                kept.append(stage.forward(centres[labels] + torch.randn(BATCH, WIDTH, generator=data), labels))
            for root, received in kept:
                stage.backward(root, received)
            clip(stage.model)
            optimizer.step()
    run.finish(stage.model)
