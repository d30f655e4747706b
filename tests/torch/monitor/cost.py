"""What monitoring costs a step, in CPU time: blocks of steps with and without it alternate in one process of one thread.

    cost.py [--blocks N] [--steps N]
    cost.py --device cuda [--blocks N]

Sampled steps of a transformer of 3.7 million parameters, and steps between samples of a network of 300 parameters. Medians, with the
interval of the median at 95 % by the blocks' order. On a GPU: a transformer of 125 million parameters in bfloat16 with `every=50`, by the
clock, and whether the host waits for the GPU more often than without monitoring, by the profiler (exit status 1 if it does, or if steps
take over 1.005 times as long)."""
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
EVERY_ON_GPU, MOST_ON_GPU = 50, 1.005
#: Calls of CUDA and of PyTorch that wait for the device.
WAITING = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy", "aten::_local_scalar_dense")


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    def __init__(self, width=WIDTH, layers=LAYERS, words=WORDS, length=LENGTH, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, x):
        h = self.words(x) + self.places.weight[:x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def transformer(batch=10, device="cpu", dtype=torch.float32, **sizes):
    model = Transformer(**sizes).to(device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    words, length = model.words.num_embeddings, model.places.num_embeddings

    def step():
        x = torch.randint(0, words, (batch, length + 1), device=device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[:, :-1]).reshape(-1, words), x[:, 1:].reshape(-1))
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


def waits(device, step, count):
    """How often the host waits for the device in some steps."""
    from torch.profiler import ProfilerActivity, profile
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        for _ in range(count):
            step()
    names = [event.name for event in found.events()]
    return {name: names.count(name) for name in WAITING if name in names}


def on_gpu(device, number):
    """Seconds of blocks of 50 steps, without and with monitoring every 50 steps; then waits of the host in such a block."""
    made = transformer(8, device, torch.bfloat16, width=768, layers=12, words=26000, length=1024, heads=12)
    model, optimizer, step = made
    print(f"{sum(each.numel() for each in model.parameters()) / 1e6:.0f} million parameters, {torch.cuda.get_device_name(device)}")

    def block(count):
        torch.cuda.synchronize(device)
        start = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize(device)
        return time.perf_counter() - start

    block(10)
    pairs = []
    for _ in range(number):
        alone = block(EVERY_ON_GPU)
        directory = tempfile.mkdtemp()
        with planproof.torch.monitor(model, optimizer, directory, every=EVERY_ON_GPU, on_alarm=None):
            block(EVERY_ON_GPU)  # the first two steps are sampled, too
            pairs.append(block(EVERY_ON_GPU) / alone)
        shutil.rmtree(directory)
    ratio = interval(pairs)
    print(f"monitored step by unmonitored one: {ratio[0]:.4f} ({ratio[1]:.4f} to {ratio[2]:.4f}), at most {MOST_ON_GPU}")
    alone = waits(device, step, EVERY_ON_GPU)
    directory = tempfile.mkdtemp()
    with planproof.torch.monitor(model, optimizer, directory, every=EVERY_ON_GPU, on_alarm=None):
        block(EVERY_ON_GPU)
        monitored = waits(device, step, EVERY_ON_GPU)
    shutil.rmtree(directory)
    print(f"waits of the host in {EVERY_ON_GPU} steps: {alone} without monitoring, {monitored} with it")
    return ratio[0] <= MOST_ON_GPU and all(count <= alone.get(name, 0) for name, count in monitored.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", choices=["sampled", "between"])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.device == "cuda":
        return 0 if on_gpu(options.device, options.blocks) else 1
    if options.only != "between":
        made = transformer()
        print(f"{sum(each.numel() for each in made[0].parameters()) / 1e6:.2f} million parameters")
        report("sampled steps", blocks(made, 1, 1, options.steps, options.blocks), "ms", 1e3)
    if options.only != "sampled":
        made = many_parameters()
        report(f"steps between samples, {len(list(made[0].parameters()))} parameters",
               blocks(made, NEVER, 3, 50 * options.steps, options.blocks), "us", 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
