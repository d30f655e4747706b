"""Sees steps of optimizers, their options and what is done to gradients by `zero_grad`."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from planproof.torch.monitoring.holdings import Holdings
from planproof.torch.monitoring.journal import Frame, Kind, Type, plain_number
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.steps import Steps, on_host


class OptimizerHooks:
    """Hooks on optimizers. `names` are those that events refer to."""

    def __init__(self, steps: Steps, optimizers: Sequence[Any], names: Sequence[str], holdings: Callable[[], Holdings],
                 before: Callable[[int], None], after: Callable[[int], None]) -> None:
        """`before` and `after` take the value facts of an optimizer."""
        self._steps, self.optimizers, self.names, self._holdings = steps, list(optimizers), names, holdings
        self._before, self._after = before, after
        self._options: List[Any] = [None] * len(self.optimizers)
        self._rates: List[List[Optional[float]]] = [[] for _ in self.optimizers]
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
        """Parameters of an optimizer that have a gradient."""
        found = [each.grad for group in self.optimizers[index].param_groups for each in group["params"]]
        return sum([each is not None for each in found])

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
        rates = [group.get("lr") for group in groups]
        plain = [{key: value for key, value in group.items() if key not in ("params", "lr")} for group in groups]
        sizes = [len(group["params"]) for group in groups]
        if again or self._options[index] is None or _differs(self._options[index], (plain, sizes)):
            self._options[index] = ([dict(each) for each in plain], sizes)
            self._rates[index] = [_rate(each) for each in rates]
            self._write(index, groups)
            return
        for number, (rate, before) in enumerate(zip(rates, self._rates[index])):
            now = _rate(rate)
            if now != before and now is not None:
                self._rates[index][number] = now
                self._steps.add(Type.LEARNING_RATE, 0, self.names[index], now, c=number)

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


def _rate(rate: Any) -> Optional[float]:
    """A learning rate, unless it is on another device: reading it would wait for that."""
    if isinstance(rate, torch.Tensor):
        return float(rate) if rate.device.type == "cpu" and rate.numel() == 1 else None
    return float(rate) if isinstance(rate, (int, float)) else None


class _Removed:
    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def remove(self) -> None:
        self._patches.restore()
