"""Sees steps of optimizers, their options and what is done to gradients by `zero_grad`."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from planproof.torch.monitoring.holdings import Holdings
from planproof.torch.monitoring.journal import Frame, Kind, Type, plain_number
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.steps import Steps, on_host

#: Of gradients, in steps that are not sampled.
NOT_COUNTED = -1


class OptimizerHooks:
    """Hooks on optimizers. `names` are those that events refer to."""

    def __init__(self, steps: Steps, optimizers: Sequence[Any], names: Sequence[str], holdings: Callable[[], Holdings],
                 before: Callable[[int], None], after: Callable[[int], None]) -> None:
        """`before` and `after` take the value facts of an optimizer."""
        self._steps, self.optimizers, self.names, self._holdings = steps, list(optimizers), names, holdings
        self._before, self._after = before, after
        self._options: List[Any] = [None] * len(self.optimizers)
        #: Values of all options of each group when they were looked at last, and the number of its parameters.
        self._seen: List[Optional[List[Tuple[Tuple[Any, ...], int]]]] = [None] * len(self.optimizers)
        self._rates: List[List[Union[None, float, Tuple[int, int]]]] = [[] for _ in self.optimizers]
        self._running: List[bool] = [False] * len(self.optimizers)
        self._handles: List[Any] = []
        for index, optimizer in enumerate(self.optimizers):
            self._watch(index, optimizer)

    def _watch(self, index: int, optimizer: Any) -> None:
        if hasattr(optimizer, "register_step_pre_hook"):
            self._handles.append(optimizer.register_step_pre_hook(lambda *_: self._begins(index)))
            self._handles.append(optimizer.register_step_post_hook(lambda *_: self._ends(index)))
            return
        own = optimizer.step

        def step(*arguments: Any, **options: Any) -> Any:
            self._begins(index)
            result = own(*arguments, **options)
            self._ends(index)
            return result

        patches = Patches()
        patches.attribute(optimizer, "step", step)
        self._handles.append(_Removed(patches))

    def _begins(self, index: int) -> None:
        if torch.compiler.is_compiling():
            return
        self._steps.optimizer_begins(index)
        self._running[index] = True
        self._steps.overflow = getattr(self.optimizers[index], "found_inf", None)
        self.write_options(index)
        self._steps.add(Type.OPTIMIZER_BEGINS, 0, self.names[index], c=self.count(index))
        self._before(index)

    def _ends(self, index: int) -> None:
        if torch.compiler.is_compiling() or not self._running[index]:
            return
        self._running[index] = False
        self._after(index)
        self._steps.add(Type.OPTIMIZER_ENDS, 0, self.names[index])
        self._steps.optimizer_ended(index, len(self.optimizers))

    def count(self, index: int) -> int:
        """Parameters of an optimizer that have a gradient; to look at all takes time, which is taken in sampled steps only."""
        if not self._steps.sampled:
            return NOT_COUNTED
        return sum([each.grad is not None for group in self.optimizers[index].param_groups for each in group["params"]])

    def left_out(self, optimizer: Any, scale: Any) -> None:
        """A loss scaler has left a step of an optimizer out."""
        for index, each in enumerate(self.optimizers):
            if each is optimizer:
                self._steps.optimizer_begins(index)
                self.write_options(index)
                self._steps.add(Type.STEP_LEFT_OUT, 0, self.names[index], on_host(scale))
                self._steps.optimizer_ended(index, len(self.optimizers), left_out=True)

    def write_options(self, index: int, again: bool = False) -> None:
        """Writes options that have changed since they were written last, and learning rates that have as events."""
        groups = self.optimizers[index].param_groups
        if not again and _are(groups, self._seen[index]):
            return
        self._seen[index] = _values(groups)
        now = [_without_rate(group) for group in groups]
        if again or self._options[index] is None or _differs(self._options[index], now):
            self._options[index] = now
            self._rates[index] = [_on_device(group.get("lr")) or _rate(group.get("lr")) for group in groups]
            self._write(index, groups)
            for number, group in enumerate(groups):
                if _on_device(group.get("lr")) is not None:
                    self._steps.add(Type.LEARNING_RATE, 0, self.names[index], on_host(group["lr"]), c=number)
            return
        rates = self._rates[index]
        for number, group in enumerate(groups):
            rate = group.get("lr")
            key = _on_device(rate) or _rate(rate)
            if key != rates[number] and key is not None:
                rates[number] = key
                self._steps.add(Type.LEARNING_RATE, 0, self.names[index], on_host(rate), c=number)

    def _write(self, index: int, groups: Sequence[Dict[str, Any]]) -> None:
        holdings = self._holdings()
        encoded = []
        for group in groups:
            options = {key: plain_number(value) for key, value in group.items() if key != "params"}
            numbers = [holdings.by_identity[id(each)] for each in group["params"] if id(each) in holdings.by_identity]
            others = [list(each.shape) for each in group["params"] if id(each) not in holdings.by_identity]
            encoded.append({**options, "tensors": numbers, "others": others})
        content = {"optimizer": index, "groups": encoded}
        if self._steps.number or self._steps.events:
            self._steps.facts.append(Frame(Kind.OPTIONS, content))  # in its place, if steps before are still on their way
        else:
            self._steps.journal.json(Kind.OPTIONS, content)

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _differs(before: Any, now: Any) -> bool:
    try:
        return bool(before != now)
    except (RuntimeError, ValueError):  # options that are tensors of many numbers
        return False


def _values(groups: Sequence[Dict[str, Any]]) -> Optional[List[Tuple[Tuple[Any, ...], int]]]:
    """By which `_are` knows groups again. None if learning rates are tensors, which change without being others."""
    if any(isinstance(group.get("lr"), torch.Tensor) for group in groups):
        return None
    return [(tuple(group.values()), len(group["params"])) for group in groups]


def _are(groups: Sequence[Dict[str, Any]], seen: Optional[List[Tuple[Tuple[Any, ...], int]]]) -> bool:
    """Whether groups have the values that were seen: what takes least time to look at."""
    if seen is None or len(seen) != len(groups):
        return False
    for group, (values, size) in zip(groups, seen):
        now = tuple(group.values())
        if len(now) != len(values) or len(group["params"]) != size:
            return False
        for one, other in zip(now, values):
            if one is not other:
                return False
    return True


def _without_rate(group: Dict[str, Any]) -> Dict[str, Any]:
    """Options of a group but for the learning rate, with the number of its parameters."""
    plain = dict(group)
    plain["params"] = len(group["params"])
    plain.pop("lr", None)
    return plain


def is_on_device(tensor: torch.Tensor) -> bool:
    """Whether reading a tensor waits for a device."""
    return not tensor.is_cpu


def _rate(rate: Any) -> Optional[float]:
    """A learning rate on the host, None for others."""
    if isinstance(rate, torch.Tensor):
        return None if is_on_device(rate) or rate.numel() != 1 else float(rate)
    return float(rate) if isinstance(rate, (int, float)) else None


def _on_device(rate: Any) -> Optional[Tuple[int, int]]:
    """What tells one value of a learning rate on another device from the next, without waiting for it: which tensor it is, and
    how often that was written. None for others."""
    if isinstance(rate, torch.Tensor) and is_on_device(rate) and rate.numel() == 1:
        return id(rate), rate._version
    return None


class _Removed:
    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def remove(self) -> None:
        self._patches.restore()
