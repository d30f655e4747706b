"""Keeps the journal's table of tensors up to date: parameters are assigned, added, frozen while a run goes on."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook, register_module_parameter_registration_hook

from planproof.torch.monitoring.holdings import Holdings
from planproof.torch.monitoring.journal import Type
from planproof.torch.monitoring.steps import Steps
from planproof.torch.relations import unwrapped


def _swaps_parameters(models: Sequence[nn.Module]) -> bool:
    """Whether modules show other tensors than their parameters while they run: FSDP's do. What only holds modules may, too."""
    return any(not isinstance(model, nn.Module) for model in models) or any("FSDP" in kind.__name__ for model in models for module in model.modules() for kind in type(module).__mro__)


class Tables:
    """Finds out, before each step's first forward pass and before optimizers step, whether the table still holds."""

    def __init__(self, steps: Steps, models: Sequence[nn.Module], optimizers: Sequence[Any], hold: Callable[[], Holdings],
                 changed: Callable[[Holdings], None]) -> None:
        """`changed` gets a new table after it was written."""
        self._steps, self._models, self._optimizers, self._hold, self._changed = steps, models, optimizers, hold, changed
        self._fixed = _swaps_parameters(models)
        self._dirty = False
        self._handles = [register_module_parameter_registration_hook(self._registered),
                         register_module_module_registration_hook(self._registered)]

    def start(self, holdings: Holdings) -> None:
        self.holdings = holdings
        self._signature = self._now()

    def _registered(self, *_: Any) -> None:
        """Some module anywhere has got a parameter or a module."""
        self._dirty = True

    def _now(self) -> Tuple[Any, ...]:
        """What makes the table what it is."""
        groups = tuple(len(group["params"]) for optimizer in self._optimizers for group in optimizer.param_groups)
        if self._fixed:
            return groups
        return (groups, tuple((key, id(value), value.dtype, value.shape) for model in self._models
                              for key, value in unwrapped(model).named_parameters(remove_duplicate=False)))

    def check(self, again: bool = False) -> None:
        """Writes a new table if there is one. `again`: which tensors require gradients was looked at in this step. In steps that
        are not sampled only a few are, in turn."""
        trainable = again or self.holdings.still_trainable(self._steps.sampled)
        if trainable and not self._dirty and not self._steps.sampled:
            return
        self._dirty = False
        signature = self._now()
        if signature == self._signature:
            if not trainable:
                self.holdings.encode()
                self._changed(self.holdings)
            return
        before, self._signature = self.holdings, signature
        self.holdings = self._hold()
        if self._fixed:  # names of parameters cannot be looked up now
            self.holdings = before
            before.encode()
        for name in _different(before, self.holdings):
            self._steps.add(Type.PARAMETER_CHANGED, 0, name)
        self._changed(self.holdings)

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()


def _different(before: Holdings, now: Holdings) -> List[str]:
    """Names of parameters that are other objects, new or gone."""
    objects: List[Dict[str, int]] = [{entry.name: id(entry.object) for entry in each.entries if not entry.buffer}
                                     for each in (before, now)]
    return [name for name in dict.fromkeys([*objects[0], *objects[1]]) if objects[0].get(name) != objects[1].get(name)]
