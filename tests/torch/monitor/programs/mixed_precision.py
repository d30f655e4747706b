"""A perceptron under autocast in one process: bfloat16, or float16 with a loss scaler (variant `scaler`, `scaler_skips`)."""
import torch
from torch import nn
from torch.nn import functional

RANKS = 1
OPTIMIZER = "adamw"

WIDTH, BATCH, CLASSES = 24, 16, 6


def network():
    return nn.Sequential(nn.Linear(WIDTH, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, CLASSES))


def data(run):
    """Batches without end."""
    centres = torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(run.data_seed())
    while True:
        labels = torch.randint(CLASSES, (BATCH,), generator=generator)
        yield centres[labels] + torch.randn(BATCH, WIDTH, generator=generator), labels


def train(run):
    torch.manual_seed(run.seed)
    model = network()
    optimizer = run.optimizer(model.parameters())
    scaled = run.varied("scaler", "scaler_skips")
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=5, enabled=scaled)
    with run.monitor(model, optimizer) as monitor:
        for step, (inputs, labels) in zip(range(run.steps), data(run)):
            optimizer.zero_grad()
            lost = run.faulty("no_autocast", step)
            with torch.autocast("cpu", torch.float16 if scaled else torch.bfloat16, enabled=not lost):
                loss = functional.cross_entropy(model(inputs), labels)
            monitor.loss(loss)
            scaler.scale(loss).backward()
            if run.varied("scaler_skips") and step in (0, 4):
                model[0].weight.grad[0, 0] = float("inf")
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            run.note(loss)
    run.finish(model)
