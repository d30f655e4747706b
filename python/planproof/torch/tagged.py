"""Python numbers that remember how they came from tensors.

`1 - beta ** step.item()` is a Python number, and an operator that gets it as an argument would be recorded with a constant. So
numbers that leave tensors while a step is recorded are of subclasses of `float` and `int` that carry an expression through
Python's arithmetic. Expressions are as docs/torch-trace.md has them: `["mul", {"item": 3}, 0.5]`, `["call", "floor", ...]`."""
from __future__ import annotations

import numbers
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

    def written(self, text: str, value: Any, expression: Expression) -> None:
        """A text was made of a number."""


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


def _has_infinity(expression: Expression) -> bool:
    """Whether a number that has no JSON of its own is in it: infinity or NaN, with which expressions say nothing."""
    if isinstance(expression, list):
        return any(map(_has_infinity, expression[1:]))
    return isinstance(expression, dict) and "item" not in expression


def finite(expression: Expression) -> Expression:
    """The expression; None if it says nothing."""
    return None if _has_infinity(expression) else expression


def tagged(items: Followed, value: Any, expression: Expression) -> Any:
    """A tagged number; what is no real number, or has too long an expression, as it is."""
    if isinstance(value, (numpy.floating, numpy.integer)):
        value = value.item()
    if type(value) not in (int, float):
        return value
    depth, size = extent(expression)
    if depth > DEEPEST or size > LARGEST or _has_infinity(expression):
        items.lost("arithmetic", value, expression)
        return value
    result = int.__new__(Int, value) if type(value) is int else float.__new__(Float, value)
    result.origin, result.items = expression, items
    return result


def _binary(name: str, apply: Callable[[Any, Any], Any], swapped: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        other = _as_number(other)
        if not isinstance(other, (int, float)):
            if not hasattr(other, "__torch_function__") and not hasattr(other, "__array_ufunc__"):
                way = "repetition" if isinstance(other, (list, tuple, str, bytes, bytearray)) else type(other).__name__
                self.items.lost(way, plain(self), self.origin)
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        return self.items.computed(apply(plain(left), plain(right)), _expression(name, origin(left), origin(right)))
    return method


def _as_number(other: Any) -> Any:
    """A number of a type of Python's; what is none, as it is."""
    if isinstance(other, bool):
        return int(other)
    return other.item() if isinstance(other, (numpy.floating, numpy.integer)) else other


def _expression(name: str, *operands: Expression) -> Expression:
    return [name, *operands] if name in INTERPRETED else ["call", name, *operands]


def _unary(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *more: Any) -> Any:
        value = apply(plain(self), *map(plain, more))
        return self.items.computed(value, _expression(name, self.origin, *map(origin, more)))
    return method


def _comparison(sign: str, apply: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        other = _as_number(other)
        if not isinstance(other, (int, float)):
            if isinstance(other, numbers.Number):
                self.items.decided(sign, (plain(self),), (self.origin,))
            return NotImplemented
        self.items.decided(sign, (plain(self), plain(other)), (self.origin, origin(other)))
        return apply(plain(self), plain(other))
    return method


def _true(self: Any) -> bool:
    self.items.decided("!=", (plain(self), 0), (self.origin, 0))
    return bool(plain(self))


def _decides(name: str, apply: Callable[[Any], bool]) -> Callable[..., Any]:
    def method(self: Any) -> bool:
        self.items.decided(name, (plain(self),), (self.origin,))
        return apply(plain(self))
    return method


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


def _rdivmod(self: Any, other: Any) -> Any:
    return other // self, other % self


def _power(self: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is None:
        return _binary("pow", operator.pow, False)(self, exponent)
    value = pow(plain(self), plain(exponent), plain(modulus))
    return self.items.computed(value, ["call", "modular_pow", *map(origin, (self, exponent, modulus))])


def _ratio(self: Any) -> Any:
    parts = plain(self).as_integer_ratio()
    return tuple(self.items.computed(part, ["call", name, self.origin]) for part, name in zip(parts, ("numerator", "denominator")))


def _text(name: str, write: Callable[..., str]) -> Callable[..., str]:
    def method(self: Any, *more: Any) -> str:
        text = write(plain(self), *more)
        self.items.written(text, plain(self), ["call", name, self.origin])
        return text
    return method


def _seen(way: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose result is followed no further."""
    def method(self: Any, *more: Any, **options: Any) -> Any:
        self.items.lost(way, plain(self), self.origin)
        return apply(plain(self), *more, **options)
    return method


def _of_numbers(base: type) -> Callable[..., Any]:
    """`type(x)(1.5)` in a function of numbers: it is a plain number, or the number itself."""
    return lambda cls, *args: args[0] if args and isinstance(args[0], Tagged) and isinstance(args[0], base) else base(*args)


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
        "__reduce_ex__": _seen("pickle", lambda value, _: (base, (value,))), "__new__": _of_numbers(base),
        "__rdivmod__": _rdivmod, "as_integer_ratio": _ratio, "conjugate": lambda self: self, "real": property(lambda self: self),
        "__str__": _text("str", str), "__repr__": _text("repr", repr), "__format__": _text("format", format)}
    if base is float:
        methods.update(is_integer=_decides("is_integer", float.is_integer), hex=_text("hex", float.hex))
    else:
        methods.update(
            numerator=property(lambda self: self), __invert__=_unary("invert", operator.invert),
            bit_length=_unary("bit_length", int.bit_length), bit_count=_unary("bit_count", lambda value: bin(value).count("1")),
            to_bytes=_seen("to_bytes", int.to_bytes))
    for word, apply in {**_ARITHMETIC, **(_OF_BITS if base is int else {})}.items():
        name = "div" if word == "truediv" else word
        methods[f"__{word}__"] = _binary(name, apply, False)
        methods[f"__r{word}__"] = _binary(name, apply, True)
    for word, (sign, compare) in _COMPARISONS.items():
        methods[f"__{word}__"] = _comparison(sign, compare)
    methods["__pow__"] = _power
    return methods


Float: Any = type("Float", (float, Tagged), _methods(float))
Int: Any = type("Int", (int, Tagged), _methods(int))
