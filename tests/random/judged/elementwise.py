"""Built-in operators that compute: elementwise ones, reductions, products and layers, from docs/operators.md."""
from fractions import Fraction

import tape
from tape import choose, divide, holds, indicator, is_true, largest, smallest
from reals import MINUS_INFINITY
from tensors import INTEGER_TYPES, Malformed, REAL_TYPES, Tensor, Undecided, broadcast_at, \
    broadcast_shape, indices, promoted

REQUIRED = object()


def _clamp(x, low, high):
    if low is not None:
        x = largest([x, low], "first")
    return x if high is None else smallest([x, high], "first")


def _gelu(x):
    return x * (1 + tape.erf(x * tape.rsqrt(2))) * Fraction(1, 2)


def _pow(x, exponent):
    return tape.power(x, exponent)


# name: (operands, {attribute: default}, function of scalars and attributes).
ELEMENTWISE = {
    "add": (2, {"alpha": 1}, lambda x, y, alpha: x + y * alpha),
    "sub": (2, {"alpha": 1}, lambda x, y, alpha: x - y * alpha),
    "mul": (2, {}, lambda x, y: x * y),
    "div": (2, {}, divide),
    "neg": (1, {}, lambda x: -x),
    "pow": (2, {}, _pow),
    "sqrt": (1, {}, tape.sqrt),
    "rsqrt": (1, {}, tape.rsqrt),
    "reciprocal": (1, {}, lambda x: divide(1, x)),
    "square": (1, {}, lambda x: x * x),
    "exp": (1, {}, tape.exp),
    "log": (1, {}, tape.log),
    "sin": (1, {}, tape.sin),
    "cos": (1, {}, tape.cos),
    "erf": (1, {}, tape.erf),
    "tanh": (1, {}, tape.tanh),
    "sigmoid": (1, {}, tape.sigmoid),
    "silu": (1, {}, lambda x: x * tape.sigmoid(x)),
    "gelu": (1, {}, _gelu),
    "relu": (1, {}, lambda x: largest([x, 0], "zero")),
    "abs": (1, {}, lambda x: tape.absolute(x, "zero")),
    "maximum": (2, {}, lambda x, y: largest([x, y], "even")),
    "minimum": (2, {}, lambda x, y: smallest([x, y], "even")),
    "clamp": (1, {"min": None, "max": None}, lambda x, min, max: _clamp(x, min, max)),
    "where": (3, {}, lambda c, x, y: choose(is_true(c), lambda: x, lambda: y)),
    "masked_fill": (2, {"value": "-inf"}, lambda x, mask, value: choose(
        is_true(mask), lambda: MINUS_INFINITY if value == "-inf" else value, lambda: x)),
}
for _name, _order in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    ELEMENTWISE[_name] = (2, {}, lambda x, y, order=_order: indicator(holds(order, x, y)))
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
# Values stay among those of the operand's element type.
SELECTING = ("maximum", "minimum", "where", "masked_fill", "relu", "clamp")


def elementwise(name, operands, attributes):
    count, defaults, function = ELEMENTWISE[name]
    if len(operands) != count:
        raise Malformed(f"{name} has {count} operands")
    if name == "pow" and isinstance(operands[1], Tensor):
        raise Malformed("the exponent is a constant")
    values = with_defaults(defaults, attributes)
    kind = "bool" if name in COMPARISONS else result_kind(name, operands)
    shape = broadcast_shape([t.shape for t in operands if isinstance(t, Tensor)])
    return [Tensor.build(shape, lambda index: function(
        *(broadcast_at(t, index) for t in operands), **values), kind)]


def result_kind(name, operands):
    if name == "masked_fill":
        operands = operands[:1]
    if name == "where":
        operands = operands[1:]
    kind = promoted(operands)
    whole = name in ("add", "sub", "mul", "neg", "square", "abs") + SELECTING
    if kind not in REAL_TYPES and (not whole or any(
            isinstance(t, Fraction) for t in operands)):
        kind = "float32"
    if kind in ("bool", "int8", "uint8", "int16") and name not in SELECTING:
        raise Malformed("nothing is computed in a narrow type")
    return kind


def with_defaults(defaults, attributes):
    for name in attributes:
        if name not in defaults:
            raise Malformed(f"no attribute {name}")
    values = {**defaults, **attributes}
    for name, value in values.items():
        if value is REQUIRED:
            raise Malformed(f"attribute {name} is missing")
    return values


def dimension(k, rank):
    if not isinstance(k, int) or isinstance(k, bool) or not -rank <= k < rank:
        raise Malformed(f"no dimension {k}")
    return k % rank


def _reduced(x, attributes, combine, kind=None):
    """`combine` of the elements along the dimensions `dim`; without them of all, to shape [1]."""
    values = with_defaults({"dim": None, "keepdim": False}, attributes)
    rank = len(x.shape)
    if values["dim"] is None:
        if values["keepdim"]:
            dims, kept = list(range(rank)), True
        else:
            return Tensor((1,), [combine([x.at(*index) for index in indices(x.shape)])], kind or x.kind)
    else:
        given = values["dim"] if isinstance(values["dim"], list) else [values["dim"]]
        dims, kept = [dimension(k, rank) for k in given], values["keepdim"]
        if len(set(dims)) < len(dims) or not dims:
            raise Malformed("a dimension is listed twice")
    along = [x.shape[k] if k in dims else 1 for k in range(rank)]
    shape = [1 if k in dims else extent for k, extent in enumerate(x.shape)]

    def element(index):
        return combine([x.at(*(a + b for a, b in zip(index, step))) for step in indices(along)])
    result = Tensor.build(shape, element, kind or x.kind)
    if not kept:
        result.shape = tuple(extent for k, extent in enumerate(shape) if k not in dims)
    return result


def _sum(operands, attributes):
    (x,) = operands
    if x.kind not in REAL_TYPES + ("int64", "int32"):
        raise Undecided("the element type of a sum of truth values or narrow integers")
    return [_reduced(x, attributes, sum)]


def _mean(operands, attributes):
    (x,) = operands
    if x.kind not in REAL_TYPES:
        raise Undecided("mean of integers")
    return [_reduced(x, attributes, lambda row: divide(sum(row), len(row)))]


def _max(operands, attributes):
    return [_reduced(operands[0], attributes, lambda row: largest(row, "even"))]


def _min(operands, attributes):
    return [_reduced(operands[0], attributes, lambda row: smallest(row, "even"))]


def _logsumexp(operands, attributes):
    return [_reduced(operands[0], attributes, lambda row: tape.log(sum(tape.exp(e) for e in row)))]


def _grad_norm(operands, attributes):
    return [_reduced(operands[0], with_defaults({}, attributes), lambda row: sum(e * e for e in row))]


def _rowwise(operands, attributes, function):
    """`function` of every row along `dim`, which gives a row."""
    (x,) = operands
    k = dimension(with_defaults({"dim": -1}, attributes)["dim"], len(x.shape))
    rows = {}
    for index in indices([1 if d == k else extent for d, extent in enumerate(x.shape)]):
        rows[index] = function([x.at(*index[:k], e, *index[k + 1:]) for e in range(x.shape[k])])
    return [Tensor.build(x.shape, lambda index: rows[index[:k] + (0,) + index[k + 1:]][index[k]], x.kind)]


def _softmax_row(row):
    powers = [tape.exp(e) for e in row]
    total = sum(powers)
    return [divide(e, total) for e in powers]


def _log_softmax_row(row):
    total = tape.log(sum(tape.exp(e) for e in row))
    return [e - total for e in row]


def _linear(operands, attributes):
    with_defaults({}, attributes)
    x, w, bias = (list(operands) + [None])[:3]
    if not x.shape or len(w.shape) != 2 or x.shape[-1] != w.shape[1] or (
            bias is not None and bias.shape != w.shape[:1]):
        raise Malformed("shapes of linear")
    return [Tensor.build(x.shape[:-1] + w.shape[:1], lambda index: sum(
        x.at(*index[:-1], k) * w.at(index[-1], k) for k in range(w.shape[1])) + (
            0 if bias is None else bias.at(index[-1])), promoted(operands))]


def _matmul(operands, attributes):
    with_defaults({}, attributes)
    x, y = operands
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise Undecided("matmul of vectors")
    if x.shape[-1] != y.shape[-2]:
        raise Malformed("shapes of matmul")
    batch = broadcast_shape([x.shape[:-2], y.shape[:-2]])

    def at(t, index, i, j):
        skip = len(index) - len(t.shape) + 2
        return t.at(*(0 if e == 1 else k for k, e in zip(index[skip:], t.shape)), i, j)
    return [Tensor.build(batch + (x.shape[-2], y.shape[-1]), lambda index: sum(
        at(x, index[:-2], index[-2], k) * at(y, index[:-2], k, index[-1]) for k in range(x.shape[-1])),
        promoted(operands))]


def _embedding(operands, attributes):
    values = with_defaults({"start": 0, "stop": None, "padding_idx": None}, attributes)
    ids, w = operands
    if ids.kind not in INTEGER_TYPES or len(w.shape) != 2:
        raise Malformed("operands of embedding")
    if values["stop"] is not None and values["stop"] - values["start"] != w.shape[0]:
        raise Malformed("extent of the table")

    def element(index):
        row = ids.at(*index[:-1])
        if holds(">=", row, 0) is not True:  # the premise of the declaration
            return tape.UNDEFINED
        row = row - values["start"]
        return w.at(row, index[-1]) if 0 <= row < w.shape[0] else 0
    return [Tensor.build(ids.shape + w.shape[1:], element, w.kind)]


def _rms_norm(operands, attributes):
    values = with_defaults({"normalized_shape": None, "eps": Fraction(1, 1000000)}, attributes)
    x, weight = (list(operands) + [None])[:2]
    if values["normalized_shape"] not in (None, x.shape[-1], [x.shape[-1]]):
        raise Malformed("normalized_shape")
    if weight is not None and weight.shape != x.shape[-1:]:
        raise Malformed("shape of the weight")

    def row(elements):
        square = divide(sum(e * e for e in elements), len(elements))
        scale = tape.rsqrt(square + values["eps"])
        return [e * scale * (1 if weight is None else weight.at(k)) for k, e in enumerate(elements)]
    return _rowwise([x], {}, row)


def _layer_norm(operands, attributes):
    values = with_defaults({"normalized_shape": REQUIRED, "eps": Fraction(1, 100000)}, attributes)
    x, weight, bias = (list(operands) + [None, None])[:3]
    if values["normalized_shape"] not in (x.shape[-1], [x.shape[-1]]):
        raise Malformed("normalized_shape")

    def row(elements):
        center = divide(sum(elements), len(elements))
        variance = divide(sum((e - center) * (e - center) for e in elements), len(elements))
        scale = tape.rsqrt(variance + values["eps"])
        return [(e - center) * scale * (1 if weight is None else weight.at(k)) + (
            0 if bias is None else bias.at(k)) for k, e in enumerate(elements)]
    return _rowwise([x], {}, row)


def _cross_entropy(operands, attributes):
    values = with_defaults({"reduction": "mean", "ignore_index": -100}, attributes)
    logits, target = operands
    if len(logits.shape) != 2 or target.shape != logits.shape[:1] or target.kind not in INTEGER_TYPES:
        raise Malformed("operands of cross_entropy")

    def loss(n):
        row = [logits.at(n, c) for c in range(logits.shape[1])]
        label = target.at(n)
        if label == values["ignore_index"]:
            return 0 * sum(row)
        return tape.log(sum(tape.exp(e) for e in row)) - (
            row[label] if 0 <= label < len(row) else 0)
    losses = [loss(n) for n in range(logits.shape[0])]
    if values["reduction"] == "none":
        return [Tensor(target.shape, losses, logits.kind)]
    total = sum(losses)
    if values["reduction"] == "mean":
        total = divide(total, sum(target.at(n) != values["ignore_index"] for n in range(len(losses))))
    elif values["reduction"] != "sum":
        raise Malformed("reduction")
    return [Tensor((1,), [total], logits.kind)]


def _mse_loss(operands, attributes):
    values = with_defaults({"reduction": "mean"}, attributes)
    x, y = operands
    if x.shape != y.shape:
        raise Undecided("broadcast in mse_loss")
    terms = [(a - b) * (a - b) for a, b in zip(x.flat, y.flat)]
    if values["reduction"] == "none":
        return [Tensor(x.shape, terms, promoted(operands))]
    total = sum(terms)
    if values["reduction"] == "mean":
        total = divide(total, len(terms))
    return [Tensor((1,), [total], promoted(operands))]


COMPUTING = {
    "sum": _sum, "mean": _mean, "max": _max, "min": _min, "logsumexp": _logsumexp, "grad_norm": _grad_norm,
    "softmax": lambda operands, attributes: _rowwise(operands, attributes, _softmax_row),
    "log_softmax": lambda operands, attributes: _rowwise(operands, attributes, _log_softmax_row),
    "linear": _linear, "matmul": _matmul, "bmm": _matmul, "embedding": _embedding, "rms_norm": _rms_norm,
    "layer_norm": _layer_norm, "cross_entropy": _cross_entropy, "mse_loss": _mse_loss,
}
