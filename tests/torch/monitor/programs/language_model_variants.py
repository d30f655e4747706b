"""Healthy variants of the language model's trainer that are unusual: no law may alarm at one of them."""
import copy

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from language_model import BATCH, LAYERS, VOCABULARY, LanguageModel, Trainer


class Accumulation(Trainer):
    """Four micro-batches a step, with one clearing."""

    def iteration(self):
        self.model.train()
        self.clear()
        for _ in range(4):
            loss = self.loss(*self.batch())
            self.run.note(loss)
            self.monitor.loss(loss)
            (loss / 4).backward()
        self.clip()
        self.update()
        self.schedule()


class SmallLastBatch(Trainer):
    """Every fourth batch is the last one of an epoch and has three samples."""

    def batch(self):
        return self.text(3 if self.step % 4 == 3 else BATCH)


class WarmupFromZero(Trainer):
    """The first step changes nothing: its learning rate is 0."""

    def rate(self, step):
        return min(1.0, step / 4)


class Resumed(Trainer):
    """Trains, saves, and goes on in new objects: the monitor sees the second half only."""

    def train(self):
        self.monitor = Silent()
        for self.step in range(4):
            self.iteration()
        saved = copy.deepcopy([each.state_dict() for each in (self.model, self.optimizer, self.scheduler)])
        text = self.text
        fresh = Trainer(self.run)
        fresh.text = text
        for each, state in zip((fresh.model, fresh.optimizer, fresh.scheduler), saved):
            each.load_state_dict(state)
        fresh.train()


class LoadedWithin(Trainer):
    """Goes back to its first checkpoint in the middle, under the eyes of the monitor."""

    def iteration(self):
        if self.step == 2:
            self.saved = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        if self.step == 7:
            self.model.load_state_dict(self.saved[0])
            self.optimizer.load_state_dict(self.saved[1])
        super().iteration()


class Silent:
    def loss(self, value):
        return value


class AverageForEvaluation(Trainer):
    """An exponential average is swapped in for evaluation, by hand, and out again."""

    def after_optimizer(self):
        self.average = [each.detach().clone() for each in self.model.parameters()]

    def update(self):
        super().update()
        with torch.no_grad():
            for average, each in zip(self.average, self.model.parameters()):
                average.lerp_(each, 0.1)

    def evaluate(self):
        own = [each.detach().clone() for each in self.model.parameters()]
        self._put(self.average)
        super().evaluate()
        self._put(own)

    def _put(self, values):
        with torch.no_grad():
            for each, value in zip(self.model.parameters(), values):
                each.copy_(value)


class AveragedModel(Trainer):
    """Stochastic weight averaging of torch.optim.swa_utils, evaluated in place of the model."""

    def after_optimizer(self):
        self.average = torch.optim.swa_utils.AveragedModel(self.model)

    def update(self):
        super().update()
        self.average.update_parameters(self.model)

    def evaluate(self):
        self.average.eval()
        with torch.no_grad():
            inputs, labels = self.held_out()
            self.run.note(functional.cross_entropy(self.average(inputs).view(-1, VOCABULARY), labels.view(-1)))


class Lookahead(Trainer):
    """Every third step the parameters go back half the way to slow ones."""

    def after_optimizer(self):
        self.slow = [each.detach().clone() for each in self.model.parameters()]

    def update(self):
        super().update()
        if self.step % 3 == 2:
            with torch.no_grad():
                for slow, each in zip(self.slow, self.model.parameters()):
                    slow.lerp_(each, 0.5)
                    each.copy_(slow)


class UnfrozenHalfway(Trainer):
    """The first layer's parameters are frozen until the middle."""

    def make_model(self):
        model = super().make_model()
        model.blocks[0].requires_grad_(False)
        return model

    def clear(self):
        super().clear()
        if self.step == self.run.steps // 2:
            self.model.blocks[0].requires_grad_(True)


class AddedHalfway(Trainer):
    """The optimizer gets the last layer's parameters in the middle, as a new group."""

    def groups(self):
        self.later = list(self.model.blocks[LAYERS - 1].parameters())
        for each in self.later:
            each.requires_grad_(False)
        return [each for each in self.model.parameters() if each.requires_grad]

    def make_scheduler(self):
        return None

    def schedule(self):
        pass

    def clear(self):
        super().clear()
        if self.step == self.run.steps // 2:
            for each in self.later:
                each.requires_grad_(True)
            self.optimizer.add_param_group({"params": self.later, "lr": 1e-3})


class Recomputed(LanguageModel):
    def run_block(self, block, x):
        return checkpoint(block, x, use_reentrant=False)


class Checkpointing(Trainer):
    """Activations are computed again in backward."""

    def make_model(self):
        return Recomputed()


class ZeroedGradients(Trainer):
    """Gradients are zeroed, and stay tensors."""

    def clear(self):
        self.optimizer.zero_grad(set_to_none=False)


class ClearedAfter(Trainer):
    """Gradients are cleared by the model, after the step."""

    def clear(self):
        pass

    def update(self):
        super().update()
        self.model.zero_grad()


class Bfloat16(Trainer):
    """Parameters, gradients and moments in bfloat16."""

    def make_model(self):
        return super().make_model().to(torch.bfloat16)


class GroupWithoutDecay(Trainer):
    """Biases and norms are not decayed; betas differ, too."""

    def groups(self):
        decayed = [each for each in self.model.parameters() if each.dim() > 1]
        others = [each for each in self.model.parameters() if each.dim() < 2]
        return [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0, "lr": 1e-3}]


class TwoBackwards(Trainer):
    """Two losses of one forward, each with a backward."""

    def loss(self, inputs, labels):
        logits = self.model(inputs)
        self.penalty = 1e-3 * logits.logsumexp(-1).pow(2).mean()
        return functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))

    def backward(self, loss):
        loss.backward(retain_graph=True)
        self.penalty.backward()


class SumOfLosses(Trainer):
    """Backward starts from a weighted sum of three losses; the monitor is told of it."""

    def loss(self, inputs, labels):
        logits = self.model(inputs)
        main = functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))
        return main + 1e-3 * logits.logsumexp(-1).pow(2).mean() + 0.1 * functional.mse_loss(logits, torch.zeros_like(logits))


class FrozenBackbone(Trainer):
    """Only the head's norm and the last layer are trained."""

    def make_model(self):
        model = super().make_model().requires_grad_(False)
        model.norm.requires_grad_(True)
        model.blocks[LAYERS - 1].requires_grad_(True)
        return model

    def groups(self):
        return [each for each in self.model.parameters() if each.requires_grad]


class PartOfTheModel(Trainer):
    """The optimizer has a part of the model; the rest requires gradients, which nobody uses."""

    def groups(self):
        return [*self.model.blocks.parameters(), *self.model.norm.parameters()]

    def clear(self):
        self.model.zero_grad()


class Distillation(Trainer):
    """A teacher in evaluation mode gives the targets."""

    def after_optimizer(self):
        self.teacher = LanguageModel().eval().requires_grad_(False)

    def loss(self, inputs, labels):
        logits = self.model(inputs)
        with torch.no_grad():
            targets = self.teacher(inputs).softmax(-1)
        distance = functional.kl_div(logits.log_softmax(-1), targets, reduction="batchmean") / inputs.shape[1]
        return 0.5 * distance + 0.5 * functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))


class SecondForward(Trainer):
    """Two forwards with dropout, whose results are drawn together (R-Drop)."""

    def loss(self, inputs, labels):
        first, second = self.model(inputs), self.model(inputs)
        distance = functional.mse_loss(first.softmax(-1), second.softmax(-1))
        return functional.cross_entropy(first.view(-1, VOCABULARY), labels.view(-1)) + distance


class SkipsNonFinite(Trainer):
    """A step whose gradients are not finite is left out by hand."""

    def backward(self, loss):
        loss.backward()
        if self.step == 5:
            self.model.norm.weight.grad[0] = float("inf")

    def clip(self):
        self.finite = bool(torch.isfinite(nn.utils.get_total_norm([each.grad for each in self.model.parameters()])))
        if self.finite:
            super().clip()

    def update(self):
        if self.finite:
            super().update()


class MasterWeights(Trainer):
    """The optimizer has copies in float32, which are written back into a model in bfloat16."""

    def make_model(self):
        return super().make_model().to(torch.bfloat16)

    def groups(self):
        self.masters = [nn.Parameter(each.detach().float()) for each in self.model.parameters()]
        return self.masters

    def clear(self):
        self.model.zero_grad()

    def update(self):
        for master, each in zip(self.masters, self.model.parameters()):
            master.grad = each.grad.float()
        self.optimizer.step()
        self.write_back()

    def write_back(self):
        with torch.no_grad():
            for master, each in zip(self.masters, self.model.parameters()):
                each.copy_(master)


VARIANTS = {
    "": Trainer, "accumulation": Accumulation, "small_last_batch": SmallLastBatch, "warmup_from_zero": WarmupFromZero,
    "resumed": Resumed, "loaded_within": LoadedWithin, "average_for_evaluation": AverageForEvaluation,
    "averaged_model": AveragedModel, "lookahead": Lookahead, "unfrozen_halfway": UnfrozenHalfway, "added_halfway": AddedHalfway,
    "checkpointing": Checkpointing, "zeroed_gradients": ZeroedGradients, "cleared_after": ClearedAfter, "bfloat16": Bfloat16,
    "group_without_decay": GroupWithoutDecay, "two_backwards": TwoBackwards, "sum_of_losses": SumOfLosses,
    "frozen_backbone": FrozenBackbone, "part_of_the_model": PartOfTheModel, "distillation": Distillation,
    "second_forward": SecondForward, "skips_non_finite": SkipsNonFinite, "master_weights": MasterWeights}
