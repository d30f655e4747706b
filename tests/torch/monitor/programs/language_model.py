"""A language model of two layers with a tied head, in one process: warmup and cosine, clipping, an evaluation every fourth step.

Faults and unusual variants are subclasses of the trainer, each with one method of its own."""
import math

import torch
from torch import nn
from torch.nn import functional

RANKS = 1
OPTIMIZER = "adamw"

VOCABULARY, LENGTH, WIDTH, BATCH, LAYERS = 48, 16, 32, 8, 2
WARMUP, CLIP = 3, 0.2


class Block(nn.Module):
    """Causal attention of four heads and two layers that follow it, with dropout."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, 4, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH)))
        return x + self.dropout(self.down(functional.gelu(self.up(self.norm2(x)))))


class LanguageModel(nn.Module):
    def __init__(self, tied=True):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.head.weight = self.tokens.weight if tied else nn.Parameter(self.tokens.weight.detach().clone())

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(self.norm(x))

    def run_block(self, block, x):
        return block(x)


class CachedState(LanguageModel):
    """Gives the state of its first call ever after."""

    def state_dict(self, *args, **options):
        if not hasattr(self, "cached"):
            self.cached = {name: each.clone() for name, each in super().state_dict(*args, **options).items()}
        return self.cached


class Text:
    """Sequences of a Markov chain; the chain is the same in all runs."""

    def __init__(self, seed):
        chain = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(7))
        self.chain = torch.softmax(chain * 2, -1)
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, size=BATCH, shift=1):
        x = torch.randint(VOCABULARY, (size, 1), generator=self.generator)
        for _ in range(LENGTH + 1):
            x = torch.cat([x, torch.multinomial(self.chain[x[:, -1]], 1, generator=self.generator)], 1)
        return x[:, :LENGTH].contiguous(), x[:, shift:LENGTH + shift].contiguous()


class Trainer:
    """The plain program. Others override what they do otherwise."""

    def __init__(self, run):
        self.run, self.step, self.monitor = run, 0, None
        torch.manual_seed(run.seed)
        self.text = Text(run.data_seed())
        self.held_out = Text(run.data_seed() + 500)
        self.model = self.make_model()
        self.optimizer = self.run.optimizer(self.groups())
        self.after_optimizer()
        self.scheduler = self.make_scheduler()

    def make_model(self):
        return LanguageModel()

    def groups(self):
        return self.model.parameters()

    def after_optimizer(self):
        """Between the optimizer and training."""

    def rate(self, step):
        """The factor of the learning rate: a warmup that is not zero, then a cosine to a tenth."""
        return min(1.0, (step + 1) / WARMUP) * (0.55 + 0.45 * math.cos(math.pi * step / self.run.steps))

    def make_scheduler(self):
        return torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.rate)

    def train(self):
        with self.run.monitor(self.model, self.optimizer) as self.monitor:
            for self.step in range(self.run.steps):
                self.iteration()
                if self.step % 4 == 3:
                    self.evaluate()
                    self.save()
            self.evaluate()
        self.run.finish(self.model)

    def iteration(self):
        self.model.train()
        inputs, labels = self.batch()
        self.clear()
        loss = self.loss(inputs, labels)
        self.run.note(loss)
        self.monitor.loss(loss)
        self.backward(loss)
        self.clip()
        self.update()
        self.schedule()

    def batch(self):
        return self.text()

    def clear(self):
        self.optimizer.zero_grad()

    def loss(self, inputs, labels):
        return functional.cross_entropy(self.model(inputs).view(-1, VOCABULARY), labels.view(-1))

    def backward(self, loss):
        loss.backward()

    def clip(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)

    def update(self):
        self.optimizer.step()

    def schedule(self):
        self.scheduler.step()

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            inputs, labels = self.held_out()
            self.run.note(self.loss(inputs, labels))

    def save(self):
        self.model.state_dict()


def train(run):
    from language_model_faults import FAULTS
    from language_model_variants import VARIANTS
    kind = VARIANTS[run.settings.variant]
    if run.settings.fault:
        kind = type("Faulty", (FAULTS[run.settings.fault], kind), {})
    kind(run).train()
