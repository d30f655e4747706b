"""Python's own functions of numbers, for numbers that came from tensors.

`int(x)` gives a plain number whatever `x` is, and functions of `math` do. While a step is recorded, the modules of the program find
functions under these names that keep the tag. `int` and `float` are replaced in modules that only call them, or ask
whether something is one."""
from __future__ import annotations

import ast
import builtins
import math
import os
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, Optional, Protocol, Set

import torch

from planproof.torch.tagged import Followed, Tagged, origin, plain

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PATHS = tuple(os.path.abspath(sysconfig.get_paths()[key]) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib"))

_OF_NUMBERS = ("acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees erf erfc exp exp2 expm1 fabs floor fmod "
               "gamma gcd hypot isqrt lcm ldexp lgamma log log10 log1p log2 nextafter perm pow radians remainder sin sinh sqrt tan "
               "tanh trunc").split()
_DECISIONS = ("isclose", "isfinite", "isinf", "isnan")


class Converts(Followed, Protocol):
    """Who follows numbers, also through conversions."""

    def converted(self, way: str, value: Any) -> Any:
        """`int(value)` or `float(value)`, tagged."""


@contextmanager
def in_program(items: Converts) -> Iterator[None]:
    """Numbers of tensors keep their tag in the program's own modules."""
    functions = _of_math(items)
    names = {id(getattr(math, name)): function for name, function in functions.items()}
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.callback(setattr, math, name, getattr(math, name))
            setattr(math, name, function)
        for module in list(sys.modules.values()):
            if not _is_program(module):
                continue
            for name, value in list(vars(module).items()):
                if id(value) in names:
                    stack.callback(setattr, module, name, value)
                    setattr(module, name, names[id(value)])
            for name in _only_called(module):
                stack.callback(delattr, module, name)
                setattr(module, name, _conversion(name, items))
        yield


def _is_program(module: Any) -> bool:
    path = getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not isinstance(path, str):
        return False
    return not os.path.abspath(path).startswith((_TORCH, _SELF, *_PATHS))


def _of_math(items: Followed) -> Dict[str, Callable[..., Any]]:
    def following(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            args = tuple(each.item() if isinstance(each, torch.Tensor) and each.numel() == 1 else each for each in args)
            if not any(isinstance(each, Tagged) for each in args):
                return apply(*args, **kwargs)
            value = apply(*map(plain, args), **kwargs)
            origins = [origin(each) for each in args]
            if name in _DECISIONS:
                items.decided(name, [plain(each) for each in args], origins)
                return value
            known = {"sqrt": ["pow", origins[0], 0.5], "pow": ["pow", *origins]}
            return items.computed(value, known.get(name, ["call", "int" if name == "trunc" else name, *origins]))
        return function

    return {name: following(name, getattr(math, name)) for name in (*_OF_NUMBERS, *_DECISIONS) if hasattr(math, name)}


def _conversion(name: str, items: Converts) -> Any:
    """Stands for `int` or `float`: calls of it keep the tag."""
    plain_type = getattr(builtins, name)

    class Kind(type):
        """A type that answers as the plain one does."""

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if len(args) == 1 and not kwargs and (isinstance(args[0], Tagged) or (
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
    """Of `int` and `float` those that the module's source only calls, asks for, or writes in annotations."""
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
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                allowed.update(id(each) for each in ast.walk(annotation))
    uses: Dict[str, bool] = {}
    for node in ast.walk(tree):
        name: Optional[str] = node.id if isinstance(node, ast.Name) else None
        if name in ("int", "float"):
            uses[name] = uses.get(name, True) and id(node) in allowed
    return {name for name, only in uses.items() if only}
