"""Numbers that left a tensor by `.item()`, followed through Python's arithmetic.

`1 - beta ** step.item()` is a Python number, and an operator that gets it as an argument would be recorded with a
constant. So `.item()` gives numbers that remember how they came to be while a step is recorded. The dispatcher
sees plain numbers again, so arguments are recognised by their value: an argument that equals, in all bits, a
number that came from an item is taken to be the latest such number, unless it is a number that programs are full
of (`COMMON`)."""
from __future__ import annotations

import operator
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Union

import torch
from torch.utils._pytree import tree_leaves

from planproof.torch.trace_file import number

#: Never taken to come from an item.
COMMON = frozenset([0, 1, 2, -1, -2, 0.5, -0.5])

#: Expressions of more operations are not followed.
LARGEST = 24

Number = Union[int, float]


class Items:
    """The numbers that left tensors in one recording."""

    def __init__(self) -> None:
        self.count = 0
        self._known: Dict[Any, Any] = {}

    def leave(self, value: Number) -> int:
        """A number leaves: its position among all that did."""
        index = self.count
        self.count += 1
        self._remember(value, {"item": index})
        return index

    def _remember(self, value: Number, expression: Any) -> None:
        if not isinstance(value, bool) and value not in COMMON:
            self._known[(type(value), value)] = expression

    def encoded(self, value: Number) -> Any:
        """A number that is passed to an operator, with its origin if it is a known one."""
        kind = float if isinstance(value, float) else int
        origin = None if isinstance(value, bool) else self._known.get((kind, value))
        if origin is None:
            return number(value)
        key = "item" if isinstance(origin, dict) else "computed"
        return {key: origin["item"] if key == "item" else origin, "value": number(value)}

    def origin_of_element(self, value: Number, dtype: torch.dtype) -> Any:
        """A number that was put into a tensor of `dtype`, if it is one that came from a tensor, rounded."""
        for (_, known), _ in reversed(self._known.items()):
            if torch.tensor(known, dtype=dtype).item() == value:
                return self.encoded(known)
        return None

    def computed(self, value: Number, expression: Any) -> Number:
        """The result of arithmetic with numbers from tensors, which remembers it."""
        if type(value) is int:
            result: Number = _Int(value)
        elif type(value) is float:
            result = _Float(value)
        else:
            return value  # a bool or a complex number
        self._remember(value, expression)
        result.origin, result.items = expression, self  # type: ignore[union-attr]
        return result

    @contextmanager
    def following(self, escaped: Callable[[str], None]) -> Iterator[None]:
        """`Tensor.item` gives numbers that remember, and `torch.tensor` of tensors is an operator.
        `escaped` is told of other ways by which values leave tensors."""
        plain = torch.Tensor.item
        with ExitStack() as stack:

            def item(tensor: torch.Tensor) -> Any:
                before = self.count
                value = plain(tensor)
                if self.count == before:
                    return value
                return self.computed(value, {"item": self.count - 1})

            _replace(stack, torch.Tensor, "item", item)
            _replace(stack, torch, "tensor", _from_tensors(torch.tensor))
            for word in ("tolist", "numpy"):
                _replace(stack, torch.Tensor, word, _told(word, escaped))
            yield


def _replace(stack: ExitStack, owner: Any, name: str, function: Any) -> None:
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, function)


def _told(word: str, escaped: Callable[[str], None]) -> Callable[..., Any]:
    plain = getattr(torch.Tensor, word)

    def method(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        escaped(word)
        return plain(tensor, *args, **kwargs)

    return method


def _from_tensors(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.tensor` that stacks if it is given a list of tensors of one element."""

    def tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
        made = plain(data, *args, **kwargs)
        if isinstance(data, torch.Tensor) or not isinstance(data, (list, tuple)):
            return made
        leaves = tree_leaves(data)
        if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            return made
        parts = [leaf.detach().reshape(()).to(made.dtype) if isinstance(leaf, torch.Tensor)
                 else plain(leaf, dtype=made.dtype) for leaf in leaves]
        return torch.stack(parts).reshape(made.shape).requires_grad_(made.requires_grad)

    return tensor


def _size(expression: Any) -> int:
    if isinstance(expression, list):
        return 1 + sum(_size(part) for part in expression[1:])
    return 0


def _origin(value: Any) -> Any:
    return getattr(value, "origin", None) or (
        number(value) if isinstance(value, (int, float)) else None)


def _binary(name: str, apply: Callable[[Any, Any], Any], swapped: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        left, right = (other, self) if swapped else (self, other)
        if not isinstance(other, (int, float)):
            return NotImplemented
        base = float if isinstance(self, float) else int
        mine, theirs = base(self), (float if isinstance(other, float) else int)(other)
        result = apply(theirs, mine) if swapped else apply(mine, theirs)
        expression = [name, _origin(left), _origin(right)]
        if _size(expression) > LARGEST:
            return result
        return self.items.computed(result, expression)
    return method


def _negative(self: Any) -> Any:
    base = float if isinstance(self, float) else int
    return self.items.computed(-base(self), ["neg", _origin(self)])


_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
               "truediv": operator.truediv, "pow": operator.pow}


def _methods() -> Dict[str, Any]:
    methods: Dict[str, Any] = {"__neg__": _negative}
    for word, apply in _ARITHMETIC.items():
        name = "div" if word == "truediv" else word
        methods[f"__{word}__"] = _binary(name, apply, False)
        methods[f"__r{word}__"] = _binary(name, apply, True)
    return methods


class _Remembers:
    origin: Optional[Any] = None
    items: Items


_Float: Any = type("_Float", (float, _Remembers), _methods())
_Int: Any = type("_Int", (int, _Remembers), _methods())
