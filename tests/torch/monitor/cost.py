"""What monitoring costs a step, in CPU time: blocks of steps with and without it alternate in one process of one thread.

    cost.py [--blocks N] [--steps N]

Sampled steps of a transformer of 3.7 million parameters, and steps between samples of a network of 300 parameters. Medians, with the
interval of the median at 95 % by the blocks' order."""
import argparse
import math
import shutil
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn

import planproof.torch

WIDTH, LAYERS, WORDS, LENGTH = 256, 4, 1024, 64
NEVER = 10 ** 9


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        h = self.words(x) + self.places.weight[:x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def transformer(batch=10):
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        x = torch.randint(0, WORDS, (batch, LENGTH + 1))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[:, :-1]).reshape(-1, WORDS), x[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model, optimizer, step


def many_parameters():
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(150)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(4, 8), torch.randn(4, 8)

    def step():
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model, optimizer, step


def timed(step, count):
    start = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - start) / count


def blocks(made, every, warm, count, number):
    """Seconds of a step without and with monitoring, of each block."""
    model, optimizer, step = made
    timed(step, 2)
    found = []
    for _ in range(number):
        alone = timed(step, count)
        directory = tempfile.mkdtemp()
        with planproof.torch.monitor(model, optimizer, directory, every=every, on_alarm=None):
            timed(step, warm)
            found.append((alone, timed(step, count)))
        shutil.rmtree(directory)
    return found


def interval(numbers):
    """Median, and the interval that has it with a probability of 95 %."""
    ordered = sorted(numbers)
    n = len(ordered)
    reach = int(math.ceil(0.98 * math.sqrt(n)))
    return ordered[n // 2], ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]


def report(name, found, unit, scale):
    alone = interval([each[0] * scale for each in found])
    cost = interval([(with_it - without) * scale for without, with_it in found])
    print(f"{name}: step {alone[0]:.1f} {unit}, monitoring adds {cost[0]:.1f} {unit} ({cost[1]:.1f} to {cost[2]:.1f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", choices=["sampled", "between"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.only != "between":
        made = transformer()
        print(f"{sum(each.numel() for each in made[0].parameters()) / 1e6:.2f} million parameters")
        report("sampled steps", blocks(made, 1, 1, options.steps, options.blocks), "ms", 1e3)
    if options.only != "sampled":
        made = many_parameters()
        report(f"steps between samples, {len(list(made[0].parameters()))} parameters",
               blocks(made, NEVER, 3, 50 * options.steps, options.blocks), "us", 1e6)


if __name__ == "__main__":
    sys.exit(main())
