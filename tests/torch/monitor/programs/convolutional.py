"""A small convolutional classifier with batch norm and dropout, in one process: SGD, StepLR, clipping, evaluation after each epoch."""
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

RANKS = 1
OPTIMIZER = "sgd"

CLASSES, SIZE, BATCH, BATCHES = 5, 8, 8, 4


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, images):
        return self.head(self.dropout(self.features(images).flatten(1)))


def images(count, seed):
    """Images of a template per class with noise, and the classes; the templates are the same in all runs."""
    templates = torch.randn(CLASSES, 1, SIZE, SIZE, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    return TensorDataset(templates[labels] + torch.randn(count, 1, SIZE, SIZE, generator=generator), labels)


class Collate:
    """Puts samples together; the fault drops one of each batch."""

    def __init__(self, run):
        self.run, self.batches = run, 0

    def __call__(self, samples):
        if self.run.faulty("dropped_samples", self.batches):
            samples = samples[:-1]
        self.batches += 1
        return torch.utils.data.default_collate(samples)


class Training:
    """The loop over epochs."""

    def __init__(self, run):
        self.run, self.step = run, 0
        torch.manual_seed(run.seed)
        count = BATCH * BATCHES - (3 if run.varied("small_last_batch") else 0)
        self.loader = DataLoader(images(count, run.data_seed()), BATCH, shuffle=True, collate_fn=Collate(run),
                                 generator=torch.Generator().manual_seed(run.seed))
        self.held_out = DataLoader(images(2 * BATCH, run.data_seed() + 500), BATCH)
        self.model = Classifier()
        if run.faulty("frozen_layer"):
            self.model.features[4].requires_grad_(False)
        self.optimizer = run.optimizer(self.model.parameters(), weight_decay=1e-4)
        if run.faulty("replaced_layer"):
            self.model.head = nn.Linear(64, CLASSES)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, 0.7)

    def __call__(self):
        with self.run.monitor(self.model, self.optimizer):
            while self.step < self.run.steps:
                if self.run.faulty("evaluation_first"):
                    self.evaluate()
                if not self.epoch():
                    self.run.finish(self.model)
                    return
                if not self.run.faulty("evaluation_first"):
                    self.evaluate()
            self.model.state_dict()
        self.run.finish(self.model)

    def epoch(self):
        """One pass over the data. Whether training goes on."""
        self.model.train()
        for inputs, labels in self.loader:
            if self.step == self.run.steps:
                break
            if self.run.strikes("ends_early", self.step):
                return False
            self.iteration(inputs, labels)
            self.step += 1
        if not self.run.faulty("no_scheduler"):
            self.scheduler.step()
        return True

    def iteration(self, inputs, labels):
        if self.run.varied("augmented"):
            inputs = torch.where(torch.rand(len(inputs), 1, 1, 1) < 0.5, inputs.flip(-1), inputs)
        loss = functional.cross_entropy(self.model(inputs), labels)
        loss.backward()
        if not self.run.faulty("no_clip", self.step):
            clip_grad_norm_(self.model.parameters(), 2.0)
        self.optimizer.step()
        if not self.run.faulty("no_zero_grad"):
            self.optimizer.zero_grad()
        self.run.note(loss)

    def evaluate(self):
        if not self.run.faulty("no_eval"):
            self.model.eval()
        right = 0
        with torch.no_grad():
            for inputs, labels in self.held_out:
                right += int((self.model(inputs).argmax(-1) == labels).sum())


def train(run):
    Training(run)()
