"""DistributedDataParallel on two ranks: a classifier, each rank with data of its own, clipping, an evaluation in the middle."""
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

RANKS = 2
OPTIMIZER = "adamw"

WIDTH, BATCH, CLASSES = 16, 8, 6
CLIP = 0.5


def network():
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, CLASSES))


class Reduction:
    """DDP's reduction as a hook, for faults of it: the mean, a sum, or a mean of which one rank loses a part."""

    def __init__(self, run):
        self.run, self.step = run, 0

    def reduce(self, _, bucket):
        buffer = bucket.buffer()
        if not self.run.faulty("sum_for_average", self.step):
            buffer.div_(self.run.world)
        future = dist.all_reduce(buffer, async_op=True).get_future()
        return future.then(self.receive)

    def receive(self, future):
        result = future.value()[0]
        if self.run.faulty("lost_part", self.step) and self.run.rank == 1:
            result[-result.numel() // 3:] = 0
        return result


class Training:
    def __init__(self, run):
        self.run = run
        torch.manual_seed(run.seed + (run.rank if run.faulty("unequal_start") else 0))
        self.model = DistributedDataParallel(network(), init_sync=not run.faulty("unequal_start"))
        self.reduction = Reduction(run)
        if run.settings.fault in ("sum_for_average", "lost_part") or run.varied("hook"):
            self.model.register_comm_hook(None, self.reduction.reduce)
        self.optimizer = run.optimizer(self.model.parameters())
        self.centres = torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(5))
        self.data = torch.Generator().manual_seed(run.data_seed(0) if run.faulty("same_data") else run.data_seed())

    def batch(self):
        labels = torch.randint(CLASSES, (BATCH,), generator=self.data)
        return self.centres[labels] + torch.randn(BATCH, WIDTH, generator=self.data), labels

    def __call__(self):
        with self.run.monitor(self.model, self.optimizer):
            for step in range(self.run.steps):
                self.reduction.step = step
                self.spoil(step)
                self.iteration(step)
                if step % 5 == 4:
                    self.evaluate()
        self.run.finish(self.model)

    def iteration(self, step):
        self.optimizer.zero_grad()
        if self.run.varied("accumulation"):
            with self.model.no_sync():
                (self.loss(step) / 2).backward()
            loss = self.loss(step) / 2
            self.run.note(loss)
            loss.backward()
        else:
            with self.model.no_sync() if self.run.faulty("no_sync", step) else contextlib.nullcontext():
                loss = self.loss(step)
                self.run.note(loss)
                loss.backward()
        if not (self.run.faulty("clip_one_rank", step) and self.run.rank == 1):
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()

    def loss(self, step):
        inputs, labels = self.batch()
        model = self.model.module if self.run.faulty("inner_module", step) else self.model
        return functional.cross_entropy(model(inputs), labels)

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            inputs, labels = self.batch()
            right = (self.model(inputs).argmax(-1) == labels).float().mean()
            dist.all_reduce(right)
        self.model.train()

    @torch.no_grad()
    def spoil(self, step):
        """Faults of one rank's copy of a parameter, once."""
        weight = self.model.module[3].weight
        if self.run.rank == 1 and self.run.strikes("drift", step):
            weight.mul_(1 + 1e-5)
        if self.run.rank == 1 and self.run.strikes("flipped_bit", step):
            weight.view(torch.int32)[5, 7] ^= 1


def train(run):
    Training(run)()
