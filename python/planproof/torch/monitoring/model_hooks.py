"""Sees calls of the models, and in sampled steps those of their modules."""
from __future__ import annotations

from typing import Any, Callable, List, Mapping, Sequence, Set, Tuple

import torch
from torch import nn

from planproof.torch.monitoring.hooks import Hook, in_backward
from planproof.torch.monitoring.journal import Type
from planproof.torch.monitoring.steps import Steps
from planproof.torch.relations import unwrapped

TRAINING, GRADIENTS, INFERENCE, AUTOCAST = 1, 2, 4, 8
_gradients, _inference, _autocast = torch.is_grad_enabled, torch.is_inference_mode_enabled, torch.is_autocast_enabled
#: Whether autocast is on for any device: that is quicker to ask.
_any_autocast: Callable[[], bool] = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)
#: How deep tensors are looked for in arguments and results.
_DEPTH = 4


def tensors_in(value: Any, depth: int = _DEPTH) -> List[torch.Tensor]:
    """Tensors within tuples, lists and mappings."""
    return [tensor for _, tensor in named_tensors("", value, depth)]


def named_tensors(name: str, value: Any, depth: int = _DEPTH) -> List[Tuple[str, torch.Tensor]]:
    """The same with names: keys and positions, separated by dots."""
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if not depth:
        return []
    items: Sequence[Tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, (tuple, list)):
        items = list(enumerate(value))
    return [found for key, each in items
            for found in named_tensors(f"{name}.{key}" if name else str(key), each, depth - 1)]


def _elements_in(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else sum(each.numel() for each in tensors_in(value))


def flags_of(module: nn.Module, device: str) -> int:
    """Modes at a call of a module."""
    return (TRAINING * bool(module.training) | GRADIENTS * _gradients() | INFERENCE * _inference()
            | AUTOCAST * (_any_autocast() and _autocast(device)))


def is_compiled(module: nn.Module) -> bool:
    """Whether a call of the module runs a compiled graph."""
    return getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")


class ModelHooks:
    """Hooks on models that stay, and hooks on modules that are there in sampled steps."""

    def __init__(self, steps: Steps, models: Sequence[nn.Module], device: str, before: Callable[[nn.Module, Any], None],
                 waiting_gradients: Callable[[], int], of_output: Callable[[str, nn.Module, torch.Tensor], None]) -> None:
        """`before` is called when a model is called, with its arguments; `waiting_gradients` counts gradients that are left over;
        `of_output` gets the first tensor of a module's result in sampled steps."""
        self._steps, self._device, self._before, self._waiting, self._of_output = steps, device, before, waiting_gradients, of_output
        self._models = list(models)
        self._active: Set[int] = set()
        self._handles: List[Any] = []
        self._of_modules: List[Any] = []
        self.compiled = [module for model in models for module in model.modules() if is_compiled(module)]
        for number, model in enumerate(models):
            name = str(number) if len(models) > 1 else ""
            self._hook_model(model, name, model)
            inner = unwrapped(model)
            if inner is not model and isinstance(inner, nn.Module):
                self._hook_model(inner, f"{name}.module".lstrip("."), model)

    def _hook_model(self, module: nn.Module, name: str, model: nn.Module) -> None:
        """`model`: the module itself, or what wraps it; while that is called, calls of the module are not told."""
        inner = module is not model

        def before(_: nn.Module, arguments: Any, options: Any) -> None:
            if in_backward() or (inner and id(model) in self._active):
                return
            self._active.add(id(module))
            self._before(module, (arguments, options))
            self._steps.add(Type.FORWARD_BEGINS, flags_of(module, self._device), name, c=self._waiting())

        def after(_: nn.Module, __: Any, result: Any) -> None:
            if in_backward() or (inner and id(model) in self._active):
                return
            self._active.discard(id(module))
            self._steps.add(Type.FORWARD_ENDS, flags_of(module, self._device), name, c=_elements_in(result))

        compiled = getattr(module, "_compiled_call_impl", None)
        if compiled is not None:
            self._wrap_compiled(module, compiled, before, after)
            return
        self._handles.append(module.register_forward_pre_hook(Hook(before), prepend=True, with_kwargs=True))
        self._handles.append(module.register_forward_hook(Hook(after)))

    def _wrap_compiled(self, module: nn.Module, compiled: Callable[..., Any], before: Callable[..., None],
                       after: Callable[..., None]) -> None:
        """Hooks of a module whose `compile` was called would be compiled, too: they are around the compiled call."""
        def call(*arguments: Any, **options: Any) -> Any:
            before(module, arguments, options)
            result = compiled(*arguments, **options)
            after(module, arguments, result)
            return result

        module._compiled_call_impl = call  # type: ignore[assignment]
        self._handles.append(_Restored(module, call, compiled))

    def sample(self, modules: Sequence[Tuple[str, nn.Module]]) -> None:
        """Hooks these modules, by name, for one step. Modules in compiled graphs are not seen."""
        within = {id(inner) for module in self.compiled for inner in module.modules()}
        roots = {str(number) for number in range(len(self._models))} if len(self._models) > 1 else {""}
        for name, module in modules:
            if id(module) in within or name in roots or isinstance(module, torch.jit.ScriptModule):
                continue
            before, after = self._of_module(name)
            self._of_modules.append(module.register_forward_pre_hook(Hook(before), prepend=True))
            self._of_modules.append(module.register_forward_hook(Hook(after)))

    def _of_module(self, name: str) -> Tuple[Callable[..., None], Callable[..., None]]:
        def before(module: nn.Module, _: Any) -> None:
            if not in_backward():
                self._steps.add(Type.FORWARD_BEGINS, flags_of(module, self._device), name)

        def after(module: nn.Module, _: Any, result: Any) -> None:
            if in_backward():
                return
            tensors = tensors_in(result)
            self._steps.add(Type.FORWARD_ENDS, flags_of(module, self._device), name, c=sum(each.numel() for each in tensors))
            if tensors:
                self._of_output(name, module, tensors[0])

        return before, after

    def stop_sampling(self) -> None:
        """Takes hooks of modules away."""
        for handle in self._of_modules:
            handle.remove()
        self._of_modules = []

    def close(self) -> None:
        self.stop_sampling()
        for handle in self._handles:
            handle.remove()
        self._handles = []


class _Restored:
    """Puts a compiled call back."""

    def __init__(self, module: nn.Module, own: Any, before: Any) -> None:
        self._module, self._own, self._before = module, own, before

    def remove(self) -> None:
        if getattr(self._module, "_compiled_call_impl", None) is self._own:
            self._module._compiled_call_impl = self._before
