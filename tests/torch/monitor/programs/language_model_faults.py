"""Faults of the language model's trainer: each is one method that does something else, always or from a step on."""
import torch
from torch import nn

from language_model import CachedState, LanguageModel, Trainer


class LossScale(Trainer):
    def backward(self, loss):
        super().backward(loss / 16 if self.run.faulty("loss_scale", self.step) else loss)


class MomentumLost(Trainer):
    def clear(self):
        super().clear()
        if self.run.faulty("momentum_lost", self.step):
            for state in self.optimizer.state.values():
                for key in ("exp_avg", "momentum_buffer"):
                    if state.get(key) is not None:
                        state[key] = torch.zeros_like(state[key])


class NoZeroGrad(Trainer):
    def clear(self):
        pass


class NoScheduler(Trainer):
    def schedule(self):
        pass


class NoEval(Trainer):
    def evaluate(self):
        self.model.train(self.run.faulty("no_eval", self.step))
        with torch.no_grad():
            inputs, labels = self.held_out()
            self.run.note(self.loss(inputs, labels))


class NoClip(Trainer):
    def clip(self):
        if not self.run.faulty("no_clip", self.step):
            super().clip()


class SameBatch(Trainer):
    def batch(self):
        if self.step == 0:
            self.first = super().batch()
        return self.first


class ShiftedLabels(Trainer):
    def batch(self):
        return self.text(shift=2 if self.run.faulty("shifted_labels", self.step) else 1)


class UntiedHead(Trainer):
    def make_model(self):
        return LanguageModel(tied=False)


class FrozenLayer(Trainer):
    def make_model(self):
        model = super().make_model()
        model.blocks[1].requires_grad_(False)
        return model


class ReplacedLayer(Trainer):
    def after_optimizer(self):
        old = self.model.blocks[1].up
        self.model.blocks[1].up = nn.Linear(old.in_features, old.out_features)


class OtherStateDict(Trainer):
    def make_model(self):
        return CachedState()


class InitialisedTwice(Trainer):
    def clear(self):
        super().clear()
        if self.run.strikes("initialised_twice", self.step):
            for module in self.model.modules():
                if hasattr(module, "reset_parameters"):
                    module.reset_parameters()


class LostUpdate(Trainer):
    """With the variant `master_weights`: the copies are not written back."""

    def write_back(self):
        if not self.run.faulty("lost_update", self.step):
            super().write_back()


FAULTS = {"loss_scale": LossScale, "momentum_lost": MomentumLost, "no_zero_grad": NoZeroGrad, "no_scheduler": NoScheduler,
          "no_eval": NoEval, "no_clip": NoClip, "same_batch": SameBatch, "shifted_labels": ShiftedLabels, "untied_head": UntiedHead,
          "frozen_layer": FrozenLayer, "replaced_layer": ReplacedLayer, "other_state_dict": OtherStateDict,
          "initialised_twice": InitialisedTwice, "lost_update": LostUpdate}
