"""Scalars that remember how they were computed, for reverse-mode derivatives.

Every operator is one Python function over scalars. Called with plain values it computes the result; called with
`Var`s it also records, for each result, its operands and the partial derivatives, which `backward` sums up from the
results to the operands. Where a maximum, minimum or absolute value has a kink, the tie rule decides (docs/operator-
language.md, "Clauses").
"""
import itertools

import reals
from reals import MINUS_INFINITY, UNDEFINED, compare

_serial = itertools.count()


class KinkWithoutRule(Exception):
    """A derivative at a kink for which the operator declares no rule."""


class Var:
    """A value, and the partial derivatives to the Vars that it was computed from."""
    __slots__ = ("value", "parents", "number", "group")

    def __init__(self, value, parents=(), group=None):
        self.value = value
        self.parents = parents
        self.number = next(_serial)
        self.group = group  # of a maximum or minimum: its sign and operands

    def __add__(self, other):
        return Var(self.value + value_of(other), _parents((self, 1), (other, 1)))

    __radd__ = __add__

    def __neg__(self):
        return Var(-self.value, ((self, -1),))

    def __sub__(self, other):
        return Var(self.value - value_of(other), _parents((self, 1), (other, -1)))

    def __rsub__(self, other):
        return Var(value_of(other) - self.value, ((self, -1),))

    def __mul__(self, other):
        factor = value_of(other)
        return Var(self.value * factor, _parents((self, factor), (other, self.value)))

    __rmul__ = __mul__


def value_of(scalar):
    return scalar.value if isinstance(scalar, Var) else scalar


def _parents(*pairs):
    return tuple((scalar, partial) for scalar, partial in pairs if isinstance(scalar, Var))


def _unary(function, derivative):
    def apply(x):
        if not isinstance(x, Var):
            return function(x)
        result = function(x.value)
        return Var(result, ((x, derivative(x.value, result)),))
    return apply


def divide(a, b):
    result = reals.divide(value_of(a), value_of(b))
    if not isinstance(a, Var) and not isinstance(b, Var):
        return result
    slope = reals.divide(1, value_of(b))
    return Var(result, _parents((a, slope), (b, -result * slope)))


def power(base, exponent):
    exponent = value_of(exponent)
    if not reals.is_finite(exponent) or isinstance(exponent, reals.Near):
        return UNDEFINED
    if not isinstance(base, Var):
        return reals.power(base, exponent)
    slope = 0 if exponent == 0 else reals.power(base.value, exponent - 1) * exponent
    return Var(reals.power(base.value, exponent), ((base, slope),))


exp = _unary(reals.exponential, lambda x, y: y)
log = _unary(reals.logarithm, lambda x, y: reals.divide(1, x))
sqrt = _unary(reals.square_root, lambda x, y: reals.divide(1, 2 * y))
sin = _unary(reals.sine, lambda x, y: reals.cosine(x))
cos = _unary(reals.cosine, lambda x, y: -reals.sine(x))
erf = _unary(reals.error_function,
             lambda x, y: reals.two_over_root_pi() * reals.exponential(-(x * x)))


def rsqrt(x):
    return divide(1, sqrt(x))


def tanh(x):
    return 1 - divide(2, exp(2 * x) + 1)


def sigmoid(x):
    return divide(1, 1 + exp(-x))


def holds(order, a, b):
    """The condition `a order b`; None where an operand is undefined."""
    a, b = value_of(a), value_of(b)
    if a is UNDEFINED or b is UNDEFINED:
        return None
    sign = compare(a, b)
    return {"==": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0,
            ">=": sign >= 0}[order]


def is_true(condition):
    """A mask's element as a condition."""
    return holds("!=", condition, 0)


def choose(condition, yes, no):
    """The branch (a function) that the condition chooses; only that one is computed."""
    if condition is None:
        return UNDEFINED
    return apart(yes() if condition else no())


def apart(scalar):
    """The same value; a maximum stops being an operand of the maximum around it."""
    if isinstance(scalar, Var) and scalar.group is not None:
        return Var(scalar.value, ((scalar, 1),))
    return scalar


def indicator(condition):
    return UNDEFINED if condition is None else int(condition)


def largest(operands, ties):
    return _extreme(operands, ties, 1)


def smallest(operands, ties):
    return _extreme(operands, ties, -1)


def _extreme(operands, ties, sign):
    """The largest (sign 1) or smallest operand; equal ones share the derivative by the rule.

    Maxima that are operands of maxima count as one maximum, however they are grouped; so do minima.
    """
    operands = [inner for operand in operands for inner in _ungrouped(operand, sign)]
    values = [value_of(operand) for operand in operands]
    if not values or any(value is UNDEFINED for value in values):
        return UNDEFINED
    if sign < 0 and any(value is MINUS_INFINITY for value in values):
        return MINUS_INFINITY
    best = values[0]
    for value in values[1:]:
        if compare(value, best) * sign > 0:
            best = value
    if not any(isinstance(operand, Var) for operand in operands):
        return best
    at = [k for k, value in enumerate(values) if compare(value, best) == 0]
    return Var(best, _parents(*((operands[k], share) for k, share in zip(at, shares(len(at), ties)))),
               (sign, operands))


def _ungrouped(operand, sign):
    if isinstance(operand, Var) and operand.group is not None and operand.group[0] == sign:
        return operand.group[1]
    return [operand]


def shares(count, ties):
    """What each of `count` equal operands gets of the derivative."""
    if count == 1:
        return [1]
    if ties == "none" or ties is None:
        raise KinkWithoutRule
    if ties == "first":
        return [1] + [0] * (count - 1)
    return [{"even": reals.divide(1, count), "all": 1, "zero": 0}[ties]] * count


def absolute(x, ties):
    """max(x, -x): at 0 both operands are equal."""
    value = value_of(x)
    if not reals.is_finite(value):
        return UNDEFINED
    sign = compare(value, 0)
    if not isinstance(x, Var):
        return value if sign >= 0 else -value
    if sign == 0:
        to_x, to_minus_x = shares(2, ties)
        slope = to_x - to_minus_x
    else:
        slope = sign
    return Var(value if sign >= 0 else -value, ((x, slope),))


def backward(results):
    """Sums up derivatives from results, pairs of a Var and its gradient; returns {Var's number: gradient}."""
    gradients, nodes = {}, {}
    for var, gradient in results:
        if isinstance(var, Var):
            gradients[var.number] = gradients.get(var.number, 0) + gradient
            nodes[var.number] = var
    waiting = list(nodes.values())
    while waiting:
        for parent, _ in waiting.pop().parents:
            if parent.number not in nodes:
                nodes[parent.number] = parent
                waiting.append(parent)
    for number in sorted(nodes, reverse=True):
        gradient = gradients.get(number)
        if gradient is None:
            continue
        for parent, partial in nodes[number].parents:
            gradients[parent.number] = gradients.get(parent.number, 0) + gradient * partial
    return gradients
