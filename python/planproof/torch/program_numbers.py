"""Python's own functions of numbers, for numbers that came from tensors.

`int(x)` gives a plain number whatever `x` is, and functions of `math` do. While a step is recorded, the modules of the program find
functions under these names that keep the tag. `int` and `float` are replaced in modules that only call them, or ask
whether something is one."""
from __future__ import annotations

import ast
import builtins
import cmath
import functools
import math
import os
import struct
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from types import BuiltinFunctionType, ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Protocol, Set

import torch

from planproof.torch.tagged import Followed, Tagged, origin, plain

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PATHS = tuple(os.path.abspath(sysconfig.get_paths()[key]) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib"))

_DECISIONS = ("isclose", "isfinite", "isinf", "isnan")
#: Functions of other modules from which numbers go on as plain ones.
_OTHERS = (cmath, struct)


class Converts(Followed, Protocol):
    """Who follows numbers, also through conversions."""

    def converted(self, way: str, value: Any) -> Any:
        """`int(value)` or `float(value)`, tagged."""


@contextmanager
def in_program(items: Converts) -> Iterator[None]:
    """Numbers of tensors keep their tag in the program's own modules."""
    functions = _of_modules(items)
    with ExitStack() as stack:
        for owner in (math, *_OTHERS):
            for name, value in list(vars(owner).items()):
                if id(value) in functions:
                    stack.callback(setattr, owner, name, value)
                    setattr(owner, name, functions[id(value)])
        for module in list(sys.modules.values()):
            if not isinstance(module, ModuleType):
                continue
            for name, value in list(vars(module).items()):
                if id(value) in functions:
                    stack.callback(setattr, module, name, value)
                    setattr(module, name, functions[id(value)])
            if not _is_program(module):
                continue
            for name in _only_called(module):
                stack.callback(delattr, module, name)
                setattr(module, name, _conversion(name, items))
        yield


def _is_program(module: Any) -> bool:
    path = getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not isinstance(path, str):
        return False
    return not os.path.abspath(path).startswith((_TORCH, _SELF, *_PATHS))


def _of_modules(items: Followed) -> Dict[int, Callable[..., Any]]:
    """What stands for functions of numbers, by the identity of these."""
    found: Dict[int, Callable[..., Any]] = {}
    for name, function in vars(math).items():
        if isinstance(function, BuiltinFunctionType):
            found[id(function)] = _of_math(name, function, items)
    for module in _OTHERS:
        for name, function in vars(module).items():
            if isinstance(function, BuiltinFunctionType):
                found[id(function)] = _unfollowed(f"{module.__name__}.{name}", function, items)
    return found


def _of_math(name: str, apply: Callable[..., Any], items: Followed) -> Callable[..., Any]:
    @functools.wraps(apply)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_opened(each) for each in args)
        leaves = [each for argument in (*args, *kwargs.values())
                  for each in (argument if isinstance(argument, (list, tuple)) else [argument])]
        if not any(isinstance(each, Tagged) for each in leaves):
            return apply(*args, **kwargs)
        value = apply(*map(_plain, args), **{key: _plain(each) for key, each in kwargs.items()})
        origins = [origin(each) for each in leaves]
        if name in _DECISIONS:
            items.decided(name, [plain(each) for each in leaves], origins)
            return value
        if isinstance(value, tuple):
            return tuple(items.computed(each, ["call", f"{name}.{place}", *origins]) for place, each in enumerate(value))
        known = {"sqrt": ["pow", origins[0], 0.5], "pow": ["pow", *origins]}
        return items.computed(value, known.get(name, ["call", "int" if name == "trunc" else name, *origins]))
    return function


def _opened(value: Any) -> Any:
    """A tensor of one element as its number, and what is iterated over as a list."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (list, tuple, str)) else value


def _plain(value: Any) -> Any:
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else plain(value)


def _unfollowed(name: str, apply: Callable[..., Any], items: Followed) -> Callable[..., Any]:
    @functools.wraps(apply)
    def function(*args: Any, **kwargs: Any) -> Any:
        for each in (*args, *kwargs.values()):
            if isinstance(each, Tagged):
                items.lost(name, plain(each), each.origin)
        return apply(*args, **kwargs)
    return function


def _conversion(name: str, items: Converts) -> Any:
    """Stands for `int` or `float`: calls of it keep the tag."""
    plain_type = getattr(builtins, name)

    class Kind(type):
        """A type that answers as the plain one does."""

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs and (isinstance(args[0], (Tagged, str)) or (
                    isinstance(args[0], torch.Tensor) and args[0].numel() == 1)):
                return items.converted(name, args[0])
            return plain_type(*args, **kwargs)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, plain_type)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, plain_type)

        def __getattr__(cls, word: str) -> Any:
            return getattr(plain_type, word)

    return Kind(name, (), {})


_known: Dict[str, Set[str]] = {}


def _only_called(module: ModuleType) -> Set[str]:
    """Of `int` and `float` those that the module's source only calls, asks for, takes methods of, or writes in
    annotations."""
    path = str(module.__file__)
    if path not in _known:
        _known[path] = _names_only_called(path)
    return {name for name in _known[path] if name not in vars(module)}


def _names_only_called(path: str) -> Set[str]:
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return set()
    allowed: Set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            allowed.add(id(node.func))
            if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass", "map"):
                allowed.update(id(each) for argument in node.args for each in ast.walk(argument))
        if isinstance(node, ast.Attribute):
            allowed.add(id(node.value))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                allowed.update(id(each) for each in ast.walk(annotation))
    uses: Dict[str, bool] = {}
    for node in ast.walk(tree):
        name: Optional[str] = node.id if isinstance(node, ast.Name) else None
        if name in ("int", "float"):
            uses[name] = uses.get(name, True) and id(node) in allowed
    return {name for name, only in uses.items() if only}
