"""Tensors and optimizers that a step can reach by names of the program: what its function closes over, globals that it uses, and the
attributes and entries of these."""
from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch

#: Objects that are looked at, and how far from the function.
_MOST, _FARTHEST = 200_000, 8
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType, torch.dtype,
          torch.device, torch.Size)


@dataclass
class Reached:
    """What was found, by the name by which it was found first."""

    tensors: Dict[str, torch.Tensor] = field(default_factory=dict)
    optimizers: List[torch.optim.Optimizer] = field(default_factory=list)


def reached_from(step: Any, named: Mapping[int, str]) -> Reached:
    """What `step` reaches, a function or the frame of a block. `named`: names of parameters by identity, which stand for keys of dictionaries."""
    found = Reached()
    seen = set()
    pending: List[Tuple[str, Any]] = list(_roots(step))
    while pending and len(seen) < _MOST:
        level: List[Tuple[str, Any]] = []
        for name, value in pending:
            if isinstance(value, _PLAIN) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, torch.Tensor):
                found.tensors[name] = value
                if value.is_leaf and value.grad is not None:
                    level.append((f"{named.get(id(value), name)}.grad", value.grad))
                continue
            if isinstance(value, torch.optim.Optimizer):
                found.optimizers.append(value)
            if name.count(".") + name.count("[") < _FARTHEST:
                level += _within(name, value, named)
        pending = level
    return found


def _roots(function: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(function, types.FrameType):
        yield from list(function.f_locals.items())
        if function.f_locals is not function.f_globals:
            yield from [(name, function.f_globals[name]) for name in function.f_code.co_names if name in function.f_globals]
        return
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, types.MethodType):
        yield type(function.__self__).__name__, function.__self__
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        yield type(function).__name__, function
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # it is not set yet
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _within(name: str, value: Any, named: Mapping[int, str]) -> List[Tuple[str, Any]]:
    if isinstance(value, Mapping):
        keys = ((_key(key, named), each) for key, each in list(value.items()))
        return [(f"{name}[{key}]", each) for key, each in keys if key is not None]
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{index}]", each) for index, each in enumerate(value)]
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return [(f"{name}.{word}", each) for word, each in _roots(value)]
    if isinstance(value, torch.nn.Module):
        return [(f"{name}.{word}", each) for word, each in {**value._modules, **value._buffers, **vars(value)}.items()
                if not word.startswith(("_parameters", "_buffers", "_modules", "_forward", "_backward", "_state"))]
    content = getattr(value, "__dict__", None)
    slots = getattr(type(value), "__slots__", ())
    found = list(content.items()) if isinstance(content, dict) else []
    found += [(slot, getattr(value, slot)) for slot in ([slots] if isinstance(slots, str) else slots) if hasattr(value, slot)]
    return [(f"{name}.{word}", each) for word, each in found]


def _key(key: Any, named: Mapping[int, str]) -> Optional[str]:
    """The name of a key that the other programs have, too. None of an object's, such as a flat tensor of an optimizer."""
    if id(key) in named:
        return named[id(key)]
    return repr(key) if isinstance(key, (str, int, bool, tuple)) else None


def names_of(parameters: Sequence[Any]) -> Dict[int, str]:
    """Names of parameters and buffers by identity."""
    return {id(each.object): each.name for each in parameters}
