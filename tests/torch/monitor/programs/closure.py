"""An optimizer that calls a closure: L-BFGS several times a step, the others once."""
import torch
from torch import nn
from torch.nn import functional

RANKS = 1
OPTIMIZER = "adamw"

WIDTH, BATCH = 8, 32


def train(run):
    torch.manual_seed(run.seed)
    model = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, 1))
    if run.varied("lbfgs"):
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)
    else:
        optimizer = run.optimizer(model.parameters())
    generator = torch.Generator().manual_seed(run.data_seed())
    truth = torch.randn(WIDTH, generator=torch.Generator().manual_seed(5))
    with run.monitor(model, optimizer):
        for _ in range(run.steps):
            inputs = torch.randn(BATCH, WIDTH, generator=generator)
            targets = (inputs @ truth)[:, None].tanh()

            def closure():
                optimizer.zero_grad()
                loss = functional.mse_loss(model(inputs), targets)
                loss.backward()
                return loss

            run.note(optimizer.step(closure))
    run.finish(model)
