"""Trains a small classifier with a monitor: fine-tuning, where the head is replaced by a new one.

    python train.py --out runs/a [--bug head|loss|eval] [--seed 0] [--steps 40]

writes the journal of the run, for `planproof monitor check runs/a`. Bugs: `head` replaces the head after the optimizer was made;
`loss` has backward start from a sixteenth of the loss from step 20 on; `eval` leaves out `model.eval()`."""
import argparse

import torch
from torch import nn
from torch.nn import functional

import planproof.torch

FEATURES, CLASSES, BATCH = 20, 4, 32


def batches(seed):
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(seed)
    while True:
        labels = torch.randint(CLASSES, (BATCH,), generator=generator)
        yield centres[labels] + torch.randn(BATCH, FEATURES, generator=generator), labels


def make(bug):
    """The model with its new head, and the optimizer of all its parameters."""
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES))
    head = nn.Linear(64, CLASSES)
    if bug != "head":
        model[3] = head
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model[3] = head
    return model, optimizer


def evaluate(model, data, bug):
    if bug != "eval":
        model.eval()
    with torch.no_grad():
        inputs, labels = next(data)
        right = (model(inputs).argmax(-1) == labels).float().mean()
    model.train()
    return float(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--bug", choices=("head", "loss", "eval"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    model, optimizer = make(options.bug)
    data, held_out = batches(10 + options.seed), batches(20 + options.seed)
    with planproof.torch.monitor(model, optimizer, options.out, every=options.every) as monitor:
        for step in range(options.steps):
            inputs, labels = next(data)
            optimizer.zero_grad()
            loss = monitor.loss(functional.cross_entropy(model(inputs), labels))
            (loss / 16 if options.bug == "loss" and step >= 20 else loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 10 == 9:
                print(f"step {step}: loss {loss:.3f}, right {evaluate(model, held_out, options.bug):.0%}")


if __name__ == "__main__":
    main()
