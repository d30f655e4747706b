"""What a rank holds before the first iteration, which a verdict compares with what the reference holds."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from planproof.torch.carried_state import Written
from planproof.torch.earlier_numbers import EarlierNumbers
from planproof.torch.relations import Held, Input, Parameter, Placement, Rename, local, parameters, states

Key = Tuple[str, ...]


def parameters_of(models: Sequence[torch.nn.Module], rename: Optional[Rename],
                  placement: Optional[Placement]) -> List[Parameter]:
    """Parameters and buffers of all models of a rank."""
    return [replace(each, model=index) for index, model in enumerate(models)
            for each in parameters(model, rename, placement)]


def key_of(parameter: Parameter) -> Key:
    """A parameter or buffer of the rank, whatever it is called in the reference."""
    return "parameter", str(parameter.model), parameter.key


def key_of_state(owner: Parameter, name: str) -> Key:
    """A state of a parameter."""
    return "state", str(owner.model), owner.key, name.rpartition(".")[2]


class Beginning:
    """Copies of parameters, buffers, inputs and states of optimizers as they are when it is made, before the first iteration:
    ranks and reference hold the same numbers then, where later ones are rounded differently. A state that an iteration makes
    has no copy. And what the program has read from its environment until then."""

    def __init__(self, models: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer],
                 inputs: Mapping[str, Any], placement: Optional[Placement],
                 environment: Optional[Dict[str, str]] = None) -> None:
        #: Variables that the program has read, with their values.
        self.environment = {} if environment is None else environment
        #: Memory that the last iteration before the recorded one wrote. None if there was none.
        self.written: Optional[Written] = None
        #: Numbers that the program keeps from iterations before the recorded one.
        self.earlier = EarlierNumbers()
        self._models, self._optimizers, self._placement = models, optimizers, placement
        self._found: Dict[Key, torch.Tensor] = {}
        self._all_kept = True
        for each in self._parameters():
            self._keep(key_of(each), each.held().tensor)
        for name, value in inputs.items():
            while isinstance(value, (Input, Held)):
                value = value.held if isinstance(value, Input) else value.tensor
            self._keep(("input", name), local(value))
        for optimizer in self._optimizers:
            for name, owner, value in states(optimizer, self._parameters()):
                self._keep(key_of_state(owner, name), value.tensor)

    def iterate(self, step: Callable[[], Any], last: bool) -> None:
        """Runs an iteration before the recorded one."""
        with self.earlier.following():
            if last:
                self.written = Written()
                with self.written:
                    step()
            else:
                step()

    def forget_what_is_trained(self) -> None:
        """Leaves copies of inputs only: iterations may have run before this was made."""
        self._found = {key: value for key, value in self._found.items() if key[0] == "input"}
        self._all_kept = False

    def _parameters(self) -> List[Parameter]:
        return parameters_of(self._models, None, self._placement)

    def _keep(self, key: Key, tensor: torch.Tensor) -> None:
        if key not in self._found:
            self._found[key] = tensor.detach().clone()

    def held(self, key: Key, now: torch.Tensor) -> Optional[torch.Tensor]:
        """The copy of what is `now` this tensor. None if it did not exist in this form."""
        found = self._found.get(key)
        if found is None or found.shape != now.shape or found.dtype != now.dtype:
            return None
        return found

    def made_later(self, key: Key) -> bool:
        """Whether this state of an optimizer that was passed did not exist, in any form, before the first iteration."""
        return self._all_kept and key not in self._found
