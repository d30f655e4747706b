"""A generator and a discriminator with an optimizer each; the discriminator steps twice as often."""
import torch
from torch import nn
from torch.nn import functional

RANKS = 1
OPTIMIZER = "adam"

WIDTH, BATCH = 12, 16


def train(run):
    torch.manual_seed(run.seed)
    generator = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, WIDTH))
    discriminator = nn.Sequential(nn.Linear(WIDTH, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    optimizers = [run.optimizer(generator.parameters()), run.optimizer(discriminator.parameters(), lr=4e-3)]
    noise = torch.Generator().manual_seed(run.data_seed())
    ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    with run.monitor([generator, discriminator], optimizers):
        for _ in range(run.steps):
            for _ in range(2):
                real = 2 + torch.randn(BATCH, WIDTH, generator=noise)
                optimizers[1].zero_grad()
                made = generator(torch.randn(BATCH, WIDTH, generator=noise)).detach()
                loss = (functional.binary_cross_entropy_with_logits(discriminator(real), ones)
                        + functional.binary_cross_entropy_with_logits(discriminator(made), zeros))
                loss.backward()
                optimizers[1].step()
                run.note(loss)
            optimizers[0].zero_grad()
            made = generator(torch.randn(BATCH, WIDTH, generator=noise))
            loss = functional.binary_cross_entropy_with_logits(discriminator(made), ones)
            loss.backward()
            optimizers[0].step()
            run.note(loss)
    run.finish(generator, discriminator)
