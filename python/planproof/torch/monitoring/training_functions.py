"""Sees what a training loop calls besides models and optimizers: clipping, loss scalers, schedulers, clearing of gradients, states."""
from __future__ import annotations

import functools
import math
import struct
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.optim import lr_scheduler, swa_utils

from planproof.torch.monitoring.holdings import class_name
from planproof.torch.monitoring.journal import Type
from planproof.torch.monitoring.optimizer_hooks import OptimizerHooks
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.steps import Steps, on_host

SET_TO_NONE = 1


class TrainingFunctions:
    """Wrappers of functions and methods that a training loop calls."""

    def __init__(self, steps: Steps, patches: Patches, hooks: OptimizerHooks, models: Dict[int, str],
                 before_clipping: Callable[[Iterable[torch.Tensor]], None], cleared: Callable[[bool, Any], None],
                 state_read: Callable[[nn.Module, Any, str], None]) -> None:
        """`models`: names by identity. `before_clipping` gets the parameters whose gradients are to be clipped, `cleared`
        whether gradients were set to None and the optimizer or module, `state_read` a model, its state and the prefix."""
        self._steps, self._patches, self._hooks, self._models = steps, patches, hooks, models
        self._before_clipping, self._cleared, self._state_read = before_clipping, cleared, state_read
        self.closed = False
        self._norm_type = 2.0
        self._depth = 0
        self._clipping()
        self._schedulers()
        self._scaler()
        self._zero_grad()
        self._averages()

    def _replaced(self, holder: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]], method: bool) -> None:
        """Replaces a function by `make(function)` as long as the run is monitored, and never within a compiled graph."""
        def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
            watched = make(original)

            def called(*arguments: Any, **options: Any) -> Any:
                if torch.compiler.is_compiling() or self.closed:
                    return original(*arguments, **options)
                return watched(*arguments, **options)
            return called
        (self._patches.method if method else self._patches.function)(holder, name, guarded)

    def _clipping(self) -> None:
        from torch.nn.utils import clip_grad

        def total_norm(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(tensors: Any, norm_type: float = 2.0, *rest: Any, **options: Any) -> Any:
                self._norm_type = float(norm_type)
                return original(tensors, norm_type, *rest, **options)
            return called

        def clip_with_norm(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(parameters: Any, max_norm: float, total_norm: Any, *rest: Any, **options: Any) -> Any:
                parameters = _listed(parameters)
                self._before_clipping(parameters)
                self._steps.add(Type.CLIP_BY_NORM, 0, None, _norm(total_norm), float(max_norm), _bits_of(self._norm_type))
                return original(parameters, max_norm, total_norm, *rest, **options)
            return called

        def clip_value(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(parameters: Any, clip_value: float, *rest: Any, **options: Any) -> Any:
                parameters = _listed(parameters)
                self._before_clipping(parameters)
                self._steps.add(Type.CLIP_BY_VALUE, b=float(clip_value))
                return original(parameters, clip_value, *rest, **options)
            return called

        def of_fsdp(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(module: Any, max_norm: float, norm_type: float = 2.0, *rest: Any, **options: Any) -> Any:
                events = self._steps.events
                before = len(events)
                if id(module) in self._models:
                    self._before_clipping(list(module.parameters()))
                result = original(module, max_norm, norm_type, *rest, **options)
                if id(module) in self._models and all(event.type != Type.CLIP_BY_NORM for event in events[before:]):
                    self._steps.add(Type.CLIP_BY_NORM, 0, None, _norm(result), float(max_norm), _bits_of(float(norm_type)))
                return result
            return called

        self._replaced(FullyShardedDataParallel, "clip_grad_norm_", of_fsdp, method=True)
        self._replaced(clip_grad, "_get_total_norm", total_norm, method=False)
        self._replaced(clip_grad, "_clip_grads_with_norm_", clip_with_norm, method=False)
        self._replaced(clip_grad, "clip_grad_value_", clip_value, method=False)

    def _schedulers(self) -> None:
        def step(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(scheduler: Any, *arguments: Any, **options: Any) -> Any:
                outermost = not self._depth
                self._depth += 1
                try:
                    result = original(scheduler, *arguments, **options)
                finally:
                    self._depth -= 1
                if outermost and self._is_ours(scheduler):
                    self._steps.add(Type.SCHEDULER_STEP, 0, class_name(scheduler))
                return result
            return called

        def quiet(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **options: Any) -> Any:
                self._depth += 1
                try:
                    return original(*arguments, **options)
                finally:
                    self._depth -= 1
            return called

        base = lr_scheduler.LRScheduler
        for kind in [base, lr_scheduler.ReduceLROnPlateau, *_subclasses(base)]:
            if "step" in vars(kind):
                self._replaced(kind, "step", step, method=True)
        self._replaced(base, "_initial_step", quiet, method=True)

    def _is_ours(self, scheduler: Any) -> bool:
        optimizer = getattr(scheduler, "optimizer", None)
        return optimizer is None or any(optimizer is each or getattr(optimizer, "param_groups", None) is each.param_groups
                                        for each in self._hooks.optimizers)

    def _scaler(self) -> None:
        def scale(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(scaler: Any, *arguments: Any, **options: Any) -> Any:
                result = original(scaler, *arguments, **options)
                if scaler.is_enabled() and scaler._scale is not None:
                    self._steps.add(Type.LOSS_SCALE, a=on_host(scaler._scale))
                return result
            return called

        def step(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(scaler: Any, optimizer: Any, *arguments: Any, **options: Any) -> Any:
                number = self._steps.number
                events = len(self._steps.events)
                result = original(scaler, optimizer, *arguments, **options)
                stepped = self._steps.number != number or any(
                    event.type == Type.OPTIMIZER_BEGINS for event in self._steps.events[events:])
                if not stepped and scaler.is_enabled():
                    self._hooks.left_out(optimizer, scaler._scale)
                return result
            return called

        self._replaced(torch.amp.GradScaler, "scale", scale, method=True)
        self._replaced(torch.amp.GradScaler, "step", step, method=True)

    def _zero_grad(self) -> None:
        def of_optimizer(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(optimizer: Any, set_to_none: bool = True, *rest: Any, **options: Any) -> Any:
                for index, each in enumerate(self._hooks.optimizers):
                    if each is optimizer:
                        self._clear(self._hooks.count(index), bool(set_to_none), self._hooks.names[index], optimizer)
                return original(optimizer, set_to_none, *rest, **options)
            return called

        def of_module(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(module: Any, set_to_none: bool = True, *rest: Any, **options: Any) -> Any:
                if id(module) in self._models:
                    count = sum(each.grad is not None for each in module.parameters())
                    self._clear(count, bool(set_to_none), self._models[id(module)], module)
                return original(module, set_to_none, *rest, **options)
            return called

        for kind in {type(each) for each in self._hooks.optimizers}:
            if hasattr(kind, "zero_grad"):
                self._replaced(kind, "zero_grad", of_optimizer, method=True)
        self._replaced(nn.Module, "zero_grad", of_module, method=True)

    def _clear(self, count: int, to_none: bool, name: str, holder: Any) -> None:
        self._steps.add(Type.ZERO_GRAD, SET_TO_NONE * to_none, name, c=count)
        self._cleared(to_none, holder)

    def watch_states(self, models: Sequence[nn.Module]) -> None:
        """Sees `state_dict` and `load_state_dict` of these models."""
        known = {id(model) for model in models}

        def state_dict(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(module: Any, *arguments: Any, **options: Any) -> Any:
                result = original(module, *arguments, **options)
                if id(module) in known:
                    prefix = options.get("prefix", arguments[1] if len(arguments) > 1 else "")
                    self._state_read(module, result, prefix)
                return result
            return called

        def load_state_dict(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(module: Any, *arguments: Any, **options: Any) -> Any:
                result = original(module, *arguments, **options)
                if id(module) in known or any(module is each for each in self._hooks.optimizers):
                    self._steps.add(Type.STATE_LOADED, 0, class_name(module))
                return result
            return called

        for kind in {type(model) for model in models}:
            self._replaced(kind, "state_dict", state_dict, method=True)
            self._replaced(kind, "load_state_dict", load_state_dict, method=True)
        for kind in {type(each) for each in self._hooks.optimizers}:
            if hasattr(kind, "load_state_dict"):
                self._replaced(kind, "load_state_dict", load_state_dict, method=True)

    def _averages(self) -> None:
        def update(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(average: Any, model: Any, *arguments: Any, **options: Any) -> Any:
                if id(model) in self._models:
                    self._steps.add(Type.AVERAGED, 0, class_name(average))
                return original(average, model, *arguments, **options)
            return called

        self._replaced(swa_utils.AveragedModel, "update_parameters", update, method=True)


def _subclasses(kind: type) -> List[type]:
    return [each for one in kind.__subclasses__() for each in (one, *_subclasses(one))]


@functools.lru_cache(maxsize=16)
def _bits_of(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _listed(parameters: Any) -> Any:
    """Parameters that can be gone through twice."""
    if isinstance(parameters, list):
        return parameters
    return [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)


def _norm(total: Any) -> Any:
    """A norm as it was returned; NaN if each rank has only its part of it."""
    if type(total) is torch.Tensor:
        return on_host(total)
    placements: Tuple[Any, ...] = getattr(total, "placements", ())
    if any(not placement.is_replicate() for placement in placements):
        return math.nan
    return on_host(total)
