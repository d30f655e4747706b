"""The numbers that the judge computes with.

A value is an int or a Fraction as long as it is rational; results of roots, exponentials and the like are `Near`,
decimal numbers of 60 digits. Beside them stand UNDEFINED (a quotient by 0, a logarithm of what is not positive, a
read outside of a tensor), which spreads through everything computed from it, also through products with 0, and
MINUS_INFINITY, as masks use it. Two values of which one is `Near` and that differ in their last digits only cannot be
told apart: comparing them raises `TooClose`, and the inputs that led there decide nothing.
"""
import decimal
from decimal import Decimal
from fractions import Fraction

decimal.getcontext().prec = 60
# Nearer than this (relative to the larger, or 1) counts as rounding; farther than FAR counts as different.
ROUNDING, FAR = Decimal("1e-40"), Decimal("1e-15")


class TooClose(Exception):
    """A comparison that rounding decides, or a number too large for the decimals."""


class _Undefined:
    """No value. Everything computed from it is undefined, too."""

    def _same(self, *_):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _same

    def __repr__(self):
        return "undefined"


class _MinusInfinity:
    """Minus infinity: absorbs finite terms, vanishes under exp and beside other operands of a maximum."""

    def __add__(self, other):
        return UNDEFINED if other is UNDEFINED else self

    __radd__ = __add__

    def __sub__(self, other):
        return UNDEFINED if other is UNDEFINED or other is self else self

    def __rsub__(self, other):
        return UNDEFINED

    def __neg__(self):
        return UNDEFINED

    def __mul__(self, other):
        if other is UNDEFINED or other is self:
            return UNDEFINED
        return self if compare(other, 0) > 0 else UNDEFINED

    __rmul__ = __mul__

    def __repr__(self):
        return "-inf"


UNDEFINED = _Undefined()
MINUS_INFINITY = _MinusInfinity()


def decimal_of(value):
    if isinstance(value, Near):
        return value.decimal
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


class Near:
    """A real number known to about 60 digits."""
    __slots__ = ("decimal",)

    def __init__(self, value):
        self.decimal = value

    def __add__(self, other):
        return Near(self.decimal + decimal_of(other)) if _finite(other) else other + self

    def __radd__(self, other):
        return Near(self.decimal + decimal_of(other))

    def __sub__(self, other):
        return Near(self.decimal - decimal_of(other)) if _finite(other) else UNDEFINED

    def __rsub__(self, other):
        return Near(decimal_of(other) - self.decimal)

    def __mul__(self, other):
        if not _finite(other):
            return other * self
        return 0 if isinstance(other, int) and other == 0 else Near(self.decimal * decimal_of(other))

    def __rmul__(self, other):
        return self * other

    def __neg__(self):
        return Near(-self.decimal)

    def __float__(self):
        return float(self.decimal)

    def __repr__(self):
        return f"{self.decimal:.20g}"


def _finite(value):
    return isinstance(value, (int, Fraction, Near))


def is_finite(value):
    """Whether it is a number, neither undefined nor minus infinity."""
    return _finite(value)


def exact(value):
    """A Fraction that is whole as an int, which is faster to compute with."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def compare(a, b):
    """-1, 0 or 1. Neither may be undefined."""
    if a is MINUS_INFINITY or b is MINUS_INFINITY:
        return (b is MINUS_INFINITY) - (a is MINUS_INFINITY)
    if isinstance(a, Near) or isinstance(b, Near):
        a, b = decimal_of(a), decimal_of(b)
        if a != b and abs(a - b) <= ROUNDING * max(1, abs(a), abs(b)):
            raise TooClose
    return (a > b) - (a < b)


def same(a, b):
    """Whether two results are equal up to rounding."""
    if not _finite(a) or not _finite(b):
        return a is b
    if not isinstance(a, Near) and not isinstance(b, Near):
        return a == b
    a, b = decimal_of(a), decimal_of(b)
    distance = abs(a - b) / max(1, abs(a), abs(b))
    if ROUNDING < distance < FAR:
        raise TooClose
    return distance <= ROUNDING


def divide(a, b):
    if a is UNDEFINED or b is UNDEFINED or b is MINUS_INFINITY:
        return UNDEFINED
    if compare(b, 0) == 0:
        return UNDEFINED
    if a is MINUS_INFINITY:
        return a if compare(b, 0) > 0 else UNDEFINED
    if isinstance(a, Near) or isinstance(b, Near):
        return Near(decimal_of(a) / decimal_of(b))
    return exact(Fraction(a) / b)


def power(base, exponent):
    """base ^ exponent for a rational constant exponent."""
    exponent = Fraction(exponent)
    if not _finite(base):
        return UNDEFINED
    if exponent.denominator != 1:
        sign = compare(base, 0)
        if sign < 0 or (sign == 0 and exponent < 0):
            return UNDEFINED
        if sign == 0:
            return 0
        if exponent.denominator == 2:
            return power(square_root(base), exponent * 2)
        return exponential(logarithm(base) * exact(exponent))
    result = 1
    for _ in range(abs(exponent.numerator)):
        result = result * base
    return result if exponent >= 0 else divide(1, result)


def square_root(value):
    if not _finite(value) or compare(value, 0) < 0:
        return UNDEFINED
    if not isinstance(value, Near):
        value = Fraction(value)
        root = Fraction(_whole_root(value.numerator), _whole_root(value.denominator))
        if root * root == value:
            return exact(root)
    return Near(decimal_of(value).sqrt())


def _whole_root(value):
    root = int(Decimal(value).sqrt())
    return root + 1 if (root + 1) ** 2 <= value else root


def exponential(value):
    if value is MINUS_INFINITY:
        return 0
    if value is UNDEFINED:
        return value
    if not isinstance(value, Near) and value == 0:
        return 1
    try:
        return Near(decimal_of(value).exp())
    except decimal.Overflow as overflow:
        raise TooClose from overflow


def logarithm(value):
    if not _finite(value) or compare(value, 0) <= 0:
        return UNDEFINED
    if not isinstance(value, Near) and value == 1:
        return 0
    return Near(decimal_of(value).ln())


def _series(value, first, ratio):
    """The sum of a power series: `ratio(n)` is what the n-th term is multiplied with to give the next."""
    term, total, n = first, Decimal(0), 0
    while term and (n < 3 or abs(term) > abs(total) * Decimal("1e-62")):
        total += term
        term *= ratio(n)
        n += 1
        if n > 4000:
            raise TooClose
    return total


def sine(value):
    if not _finite(value):
        return UNDEFINED
    if not isinstance(value, Near) and value == 0:
        return 0
    x = decimal_of(value)
    return Near(_series(x, x, lambda n: -x * x / ((2 * n + 2) * (2 * n + 3))))


def cosine(value):
    if not _finite(value):
        return UNDEFINED
    if not isinstance(value, Near) and value == 0:
        return 1
    x = decimal_of(value)
    return Near(_series(x, Decimal(1), lambda n: -x * x / ((2 * n + 1) * (2 * n + 2))))


def two_over_root_pi():
    """By Machin's formula for pi."""
    def arctangent(inverse):
        term, total, n = Decimal(1) / inverse, Decimal(0), 0
        while abs(term) > Decimal("1e-65"):
            total += term / (2 * n + 1) * (1 - 2 * (n % 2))
            term /= inverse * inverse
            n += 1
        return total
    pi = 4 * (4 * arctangent(Decimal(5)) - arctangent(Decimal(239)))
    return Near(2 / pi.sqrt())


def error_function(value):
    if not _finite(value):
        return UNDEFINED
    if not isinstance(value, Near) and value == 0:
        return 0
    x = decimal_of(value)
    if abs(x) > 6:
        raise TooClose  # the alternating series loses its digits
    total = _series(x, x, lambda n: -x * x * (2 * n + 1) / ((n + 1) * (2 * n + 3)))
    return two_over_root_pi() * Near(total)
