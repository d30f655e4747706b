"""Sees what this rank alone adds to gradients, before they are reduced over ranks: a few tensors in turn."""
from __future__ import annotations

from typing import Any, Callable, List

import torch
from torch.distributed.tensor import DTensor

from planproof.torch.monitoring.facts import CONTRIBUTION, Facts
from planproof.torch.monitoring.hooks import Hook
from planproof.torch.monitoring.journal import Moment

#: Tensors of one step, and the part of all elements that they may have together.
MOST_TENSORS, MOST_OF_ELEMENTS = 4, 0.05


class Contributions:
    """Hooks on leaves, for one step at a time."""

    def __init__(self, facts: Callable[[], Facts], unseen: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
        """`unseen` gives a hook whose operators are the monitor's own."""
        self._facts, self._unseen = facts, unseen
        self._next = 0
        self._handles: List[Any] = []

    def sample(self) -> None:
        """Chooses tensors for the next step, beginning where the last choice ended."""
        for number in self._choice():
            tensor = self._facts().holdings.entries[number].object
            self._handles.append(tensor.register_hook(Hook(self._unseen(self._hook(number)))))

    def _choice(self) -> List[int]:
        holdings = self._facts().holdings
        candidates = [number for number in holdings.parameters if _has_own_gradient(holdings.entries[number].object)]
        most = MOST_OF_ELEMENTS * sum(holdings.entries[number].held().numel() for number in candidates)
        chosen: List[int] = []
        elements = 0
        for _ in candidates:
            number = candidates[self._next % len(candidates)]
            elements += holdings.entries[number].held().numel()
            if number in chosen or len(chosen) >= MOST_TENSORS or (chosen and elements > most):
                break
            chosen.append(number)
            self._next += 1
        return chosen

    def _hook(self, number: int) -> Callable[[torch.Tensor], None]:
        def seen(gradient: torch.Tensor) -> None:
            entry = self._facts().holdings.entries[number]
            if gradient.layout == torch.strided and gradient.shape == entry.held().shape:
                self._facts().keep_sums(Moment.BACKWARD, CONTRIBUTION, number, gradient)
        return seen

    def stop(self) -> None:
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _has_own_gradient(tensor: torch.Tensor) -> bool:
    """Whether gradients of the whole tensor arrive at this leaf."""
    return tensor.requires_grad and tensor.is_leaf and not isinstance(tensor, DTensor)
