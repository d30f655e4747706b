"""Fingerprints of states that are read, of modules' outputs, and whether gradients are zero."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import torch
from torch import nn

from planproof.torch.monitoring.facts import Facts
from planproof.torch.monitoring.holdings import Holdings
from planproof.torch.monitoring.journal import Type
from planproof.torch.monitoring.model_hooks import GRADIENTS, TRAINING
from planproof.torch.monitoring.steps import Steps
from planproof.torch.monitoring.sums import HostSums, Slot
from planproof.torch.relations import Part, local

#: Outputs of a module with more elements are not looked at, nor more elements in a step than this part of the parameters', or so many.
LARGEST_OUTPUT, OUTPUTS_OF_PARAMETERS, LEAST_OF_OUTPUTS = 1 << 16, 0.2, 1 << 18


def fingerprint_of_state(holdings: Holdings, model: int, state: Any, prefix: str, facts: Facts) -> Optional[int]:
    """The sum of the fingerprints of a model's parameters as its state has them. None if the state lacks some, or has them in
    another type or other parts than are held here: that is a choice."""
    if not isinstance(state, Mapping):
        return None
    slots, tensors = [], []
    for number in holdings.parameters:
        entry = holdings.entries[number]
        value = state.get(prefix + entry.key)
        if entry.model != model:
            continue
        held = entry.held()
        if not isinstance(value, torch.Tensor) or (local(value).shape, value.dtype) != (held.shape, held.dtype):
            return None
        slots.append(entry.slot)
        tensors.append(local(value))
    if len({tensor.device.type for tensor in tensors}) > 1:
        return None
    return facts.fingerprint(slots, tensors)


def nonzero(gradients: Sequence[torch.Tensor]) -> int:
    """The number of gradients, unless all of them are zero."""
    with torch.no_grad():
        for gradient in gradients:
            own = local(gradient)
            if own.device.type != "cpu" or own.layout != torch.strided or bool(own.any()):
                return len(gradients)
    return 0


class Outputs:
    """Norms and fingerprints of what modules give in sampled steps, as far as there is time for them."""

    def __init__(self, steps: Steps, holdings: Holdings) -> None:
        self._steps = steps
        elements = sum(holdings.entries[number].held().numel() for number in holdings.parameters)
        self._most = max(int(OUTPUTS_OF_PARAMETERS * elements), LEAST_OF_OUTPUTS)
        self._sums = HostSums(0)
        self._left = self._most

    def start(self) -> None:
        """A sampled step begins."""
        self._left = self._most

    def take(self, name: str, module: nn.Module, output: torch.Tensor) -> None:
        """Adds the event of an output."""
        own = local(output.detach())
        if not 0 < own.numel() <= min(LARGEST_OUTPUT, self._left) or own.device.type != "cpu" or own.layout != torch.strided:
            return
        self._left -= own.numel()
        found = self._sums.measure([Slot(name, Part(tuple(own.shape)))], [own])
        flags = TRAINING * bool(module.training) | GRADIENTS * torch.is_grad_enabled()
        self._steps.add(Type.MODULE_OUTPUT, flags, name, float(found.norms[0]), c=int(found.fingerprints[0]))
