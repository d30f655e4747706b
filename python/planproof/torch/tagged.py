"""Python numbers that remember how they came from tensors.

`1 - beta ** step.item()` is a Python number, and an operator that gets it as an argument would be recorded with a constant. So
numbers that leave tensors while a step is recorded are of subclasses of `float` and `int` that carry an expression through
Python's arithmetic. Expressions are as docs/torch-trace.md has them: `["mul", {"item": 3}, 0.5]`, `["call", "floor", ...]`."""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Protocol, Tuple, Union

import numpy

from planproof.torch.trace_file import number

Number = Union[int, float]
Expression = Any

#: Expressions that are nested deeper, or have more operations, are not followed.
DEEPEST, LARGEST = 20, 64


class Followed(Protocol):
    """Who follows numbers."""

    def computed(self, value: Any, expression: Expression) -> Any:
        """A number that was computed from numbers of tensors, tagged."""

    def lost(self, way: str, value: Any, expression: Expression) -> None:
        """A number goes on as a plain one."""

    def decided(self, by: str, values: Any, expressions: Any) -> None:
        """A number was compared."""


class Tagged:
    """A number with an expression."""

    origin: Expression
    items: Followed


def plain(value: Any) -> Any:
    """The number without its tag."""
    if isinstance(value, Tagged):
        return float.__float__(value) if isinstance(value, float) else int.__int__(value)  # type: ignore[arg-type]
    return value


def origin(value: Any) -> Expression:
    """The expression of a number; of a plain one itself."""
    return value.origin if isinstance(value, Tagged) else number(value)


def extent(expression: Expression) -> Tuple[int, int]:
    """How deep it is nested, and how many operations it has."""
    if not isinstance(expression, list):
        return 0, 0
    depths, sizes = zip(*map(extent, expression[1:]))
    return 1 + max(depths), 1 + sum(sizes)


def tagged(items: Followed, value: Any, expression: Expression) -> Any:
    """A tagged number; what is no real number, or has too long an expression, as it is."""
    if type(value) not in (int, float):
        return value
    depth, size = extent(expression)
    if depth > DEEPEST or size > LARGEST:
        items.lost("arithmetic", value, expression)
        return value
    result = Int(value) if type(value) is int else Float(value)
    result.origin, result.items = expression, items
    return result


def _binary(name: str, apply: Callable[[Any, Any], Any], swapped: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            if isinstance(other, (list, tuple, str, bytes)):
                self.items.lost("repetition", plain(self), self.origin)
            return NotImplemented if not isinstance(other, bool) else method(self, int(other))
        left, right = (other, self) if swapped else (self, other)
        return self.items.computed(apply(plain(left), plain(right)), _expression(name, origin(left), origin(right)))
    return method


def _expression(name: str, *operands: Expression) -> Expression:
    return [name, *operands] if name in INTERPRETED else ["call", name, *operands]


def _unary(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *more: Any) -> Any:
        value = apply(plain(self), *map(plain, more))
        return self.items.computed(value, _expression(name, self.origin, *map(origin, more)))
    return method


def _comparison(sign: str, apply: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        self.items.decided(sign, (plain(self), plain(other)), (self.origin, origin(other)))
        return apply(plain(self), plain(other))
    return method


def _true(self: Any) -> bool:
    self.items.decided("!=", (plain(self), 0), (self.origin, 0))
    return bool(plain(self))


def _lost(way: str, convert: Callable[[Any], Any]) -> Callable[..., Any]:
    def method(self: Any) -> Any:
        value = convert(plain(self))
        self.items.lost(way, value, self.origin if way in ("float", "hash") else ["call", way, self.origin])
        return value
    return method


def _in_numpy(self: Any, function: Any, method: str, *operands: Any, **options: Any) -> Any:
    value = getattr(function, method)(*map(plain, operands), **options)
    followed = method == "__call__" and not options and all(isinstance(each, (int, float)) for each in operands)
    if not followed or not isinstance(value, (numpy.floating, numpy.integer)):
        for each in operands:
            if isinstance(each, Tagged):
                each.items.lost(f"numpy.{function.__name__}", plain(each), each.origin)
        return value
    return self.items.computed(value.item(), ["call", f"numpy.{function.__name__}", *map(origin, operands)])


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


#: Operations that have a meaning for a verdict; functions of others are only equal where their operands are.
INTERPRETED = ("add", "sub", "mul", "div", "pow", "neg")
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
               "pow": operator.pow, "floordiv": operator.floordiv, "mod": operator.mod}
_OF_BITS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
            "rshift": operator.rshift}
_COMPARISONS = {"lt": ("<", operator.lt), "le": ("<=", operator.le), "gt": (">", operator.gt), "ge": (">=", operator.ge),
                "eq": ("==", operator.eq), "ne": ("!=", operator.ne)}


def _methods(base: type) -> Dict[str, Any]:
    methods: Dict[str, Any] = {
        "__neg__": _unary("neg", operator.neg), "__abs__": _unary("abs", abs), "__pos__": lambda self: self,
        "__round__": _unary("round", round), "__divmod__": _divmod, "__bool__": _true,
        "__floor__": _unary("floor", lambda value: value.__floor__()), "__ceil__": _unary("ceil", lambda value: value.__ceil__()),
        "__trunc__": _unary("int", int), "__int__": _lost("int", int), "__float__": _lost("float", float),
        "__hash__": _lost("hash", hash), "__array_ufunc__": _in_numpy,
        "__copy__": lambda self: self, "__deepcopy__": lambda self, _: self,
        "__reduce_ex__": lambda self, _: (base, (plain(self),))}
    for word, apply in {**_ARITHMETIC, **(_OF_BITS if base is int else {})}.items():
        name = "div" if word == "truediv" else word
        methods[f"__{word}__"] = _binary(name, apply, False)
        methods[f"__r{word}__"] = _binary(name, apply, True)
    for word, (sign, compare) in _COMPARISONS.items():
        methods[f"__{word}__"] = _comparison(sign, compare)
    if base is int:
        methods["__invert__"] = _unary("invert", operator.invert)
    return methods


Float: Any = type("Float", (float, Tagged), _methods(float))
Int: Any = type("Int", (int, Tagged), _methods(int))
