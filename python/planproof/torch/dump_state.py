"""A training state that is perturbed and put back."""
from __future__ import annotations

import copy
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch
from torch import nn


def perturbed(tensor: torch.Tensor, epsilon: float, generator: torch.Generator) -> torch.Tensor:
    """Each number times 1 + epsilon or 1 - epsilon, rounded to the tensor's type."""
    if not tensor.is_floating_point():
        return tensor
    signs = torch.randint(0, 2, tensor.shape, generator=generator).to(tensor.device) * 2 - 1
    changed = (tensor.detach().double() * (1 + epsilon * signs)).to(tensor.dtype)
    return changed.requires_grad_(tensor.requires_grad) if tensor.is_leaf else changed


def perturb_parameters(parameters: Iterable[nn.Parameter], epsilon: float,
                       generator: torch.Generator) -> None:
    """The same in place."""
    with torch.no_grad():
        for parameter in parameters:
            parameter.copy_(perturbed(parameter, epsilon, generator))


class TrainingState:
    """What an iteration changes: parameters, their gradients, buffers, the optimizer's state, random
    numbers."""

    def __init__(self, modules: Iterable[nn.Module], parameters: Iterable[nn.Parameter],
                 optimizer: Any):
        self._optimizer = optimizer
        self._parameters: List[Tuple[nn.Parameter, torch.Tensor, Optional[torch.Tensor]]] = [
            (each, each.detach().clone(), None if each.grad is None else each.grad.clone())
            for each in parameters]
        self._buffers: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {
            id(each): (each, each.detach().clone())
            for module in modules for each in module.buffers(recurse=False)}
        self._state = None if optimizer is None else copy.deepcopy(optimizer.state_dict())
        self._random = torch.get_rng_state()
        self._devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore(self) -> None:
        """As it was."""
        with torch.no_grad():
            for parameter, value, gradient in self._parameters:
                parameter.copy_(value)
                parameter.grad = None if gradient is None else gradient.clone()
            for buffer, value in self._buffers.values():
                buffer.copy_(value)
        if self._optimizer is not None:
            self._optimizer.load_state_dict(copy.deepcopy(self._state))
        torch.set_rng_state(self._random)
        if self._devices:
            torch.cuda.set_rng_state_all(self._devices)
