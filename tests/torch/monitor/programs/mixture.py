"""A mixture of experts in one process: two of four experts per token, with a loss that balances them."""
import torch
from torch import nn
from torch.nn import functional

RANKS = 1
OPTIMIZER = "adamw"

WIDTH, EXPERTS, BATCH, CLASSES = 16, 4, 16, 6


class Mixture(nn.Module):
    """Experts that get no token are not called, and have no gradient."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 32), nn.SiLU(), nn.Linear(32, WIDTH)) for _ in range(EXPERTS))

    def forward(self, x, allowed):
        scores = self.router(x)
        scores = scores + torch.where(torch.arange(EXPERTS) < allowed, 0.0, float("-inf"))
        weights, chosen = scores.softmax(-1).topk(2)
        self.balance = EXPERTS * (scores.softmax(-1).mean(0) ** 2).sum()
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = (chosen == number).nonzero(as_tuple=True)
            if len(rows):
                result = result.index_add(0, rows, weights[rows, place, None] * expert(x[rows]))
        return result


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.mixture, self.leave = nn.Linear(WIDTH, WIDTH), Mixture(), nn.Linear(WIDTH, CLASSES)

    def forward(self, x, allowed=EXPERTS):
        x = self.enter(x)
        return self.leave(x + self.mixture(x, allowed))


def train(run):
    torch.manual_seed(run.seed)
    model = Network()
    optimizer = run.optimizer(model.parameters())
    centres = torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(run.data_seed())
    with run.monitor(model, optimizer):
        for step in range(run.steps):
            labels = torch.randint(CLASSES, (BATCH,), generator=generator)
            inputs = centres[labels] + torch.randn(BATCH, WIDTH, generator=generator)
            # The variant: half of the experts get no token in every third step.
            idle = run.varied("idle_experts") and step % 3 == 1
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(inputs, 2 if idle else EXPERTS), labels) + 0.01 * model.mixture.balance
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            run.note(loss)
    run.finish(model)
