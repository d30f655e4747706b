"""Built-in operators that move elements or change their type, from docs/operators.md (PyTorch's functions of these
names).
"""
from tensors import INTEGER_TYPES, Malformed, REAL_TYPES, Tensor, Undecided, indices, promoted, size_of
from elementwise import REQUIRED, dimension, with_defaults


def whole(value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise Malformed(f"{value!r} is no whole number")
    return value


def wholes(value):
    return [whole(v) for v in (value if isinstance(value, list) else [value])]


def _as(kind):
    def convert(operands, attributes):
        with_defaults({}, attributes)
        (x,) = operands
        if kind in INTEGER_TYPES and x.kind in REAL_TYPES:
            raise Malformed("a real number does not become an integer")
        return [Tensor(x.shape, list(x.flat), kind)]
    return convert


def _copy(operands, attributes):
    with_defaults({}, attributes)
    (x,) = operands
    return [Tensor(x.shape, list(x.flat), x.kind)]


def _multiref(operands, attributes):
    times = whole(with_defaults({"times": REQUIRED}, attributes)["times"])
    return [_copy(operands, {})[0] for _ in range(times)]


def _view_to(x, size):
    size = wholes(size)
    if size.count(-1) > 1 or any(e < -1 for e in size):
        raise Malformed("extents of a view")
    if -1 in size:
        rest = size_of(e for e in size if e != -1)
        if not rest or len(x.flat) % rest:
            raise Malformed("extents of a view")
        size = [len(x.flat) // rest if e == -1 else e for e in size]
    if size_of(size) != len(x.flat):
        raise Malformed("extents of a view")
    return [Tensor(size, list(x.flat), x.kind)]


def _view(operands, attributes):
    return _view_to(operands[0], with_defaults({"size": REQUIRED}, attributes)["size"])


def _reshape(operands, attributes):
    return _view_to(operands[0], with_defaults({"shape": REQUIRED}, attributes)["shape"])


def _flatten(operands, attributes):
    values = with_defaults({"start_dim": 0, "end_dim": -1}, attributes)
    (x,) = operands
    first, last = (dimension(values[k], len(x.shape)) for k in ("start_dim", "end_dim"))
    if first > last:
        raise Malformed("no dimensions to flatten")
    return _view_to(x, list(x.shape[:first]) + [size_of(x.shape[first:last + 1])] + list(x.shape[last + 1:]))


def _permuted(x, dims):
    dims = [dimension(k, len(x.shape)) for k in dims]
    if sorted(dims) != list(range(len(x.shape))):
        raise Malformed("no permutation")
    back = [dims.index(k) for k in range(len(dims))]
    return [Tensor.build([x.shape[k] for k in dims], lambda index: x.at(*(index[k] for k in back)), x.kind)]


def _permute(operands, attributes):
    return _permuted(operands[0], wholes(with_defaults({"dims": REQUIRED}, attributes)["dims"]))


def _transpose(operands, attributes):
    values = with_defaults({"dim0": REQUIRED, "dim1": REQUIRED}, attributes)
    (x,) = operands
    dims = list(range(len(x.shape)))
    a, b = (dimension(values[k], len(dims)) for k in ("dim0", "dim1"))
    dims[a], dims[b] = dims[b], dims[a]
    return _permuted(x, dims)


def _t(operands, attributes):
    with_defaults({}, attributes)
    if len(operands[0].shape) != 2:
        raise Malformed("t of no matrix")
    return _permuted(operands[0], [1, 0])


def part(x, k, start, length, step=1):
    """`length` elements of dimension k from `start`."""
    shape = list(x.shape)
    shape[k] = length
    return Tensor.build(shape, lambda index: x.at(*index[:k], start + step * index[k], *index[k + 1:]), x.kind)


def _slice(operands, attributes):
    values = with_defaults({"dim": 0, "start": 0, "stop": None, "step": 1}, attributes)
    (x,) = operands
    k = dimension(values["dim"], len(x.shape))
    if whole(values["step"]) < 1:
        raise Malformed("step of a slice")
    picked = range(x.shape[k])[whole(values["start"]):values["stop"]:values["step"]]
    return [part(x, k, picked.start, len(picked), values["step"])]


def _narrow(operands, attributes):
    values = with_defaults({"dim": REQUIRED, "start": REQUIRED, "length": REQUIRED}, attributes)
    (x,) = operands
    k = dimension(values["dim"], len(x.shape))
    start, length = whole(values["start"]), whole(values["length"])
    if start < 0:
        raise Malformed("range of narrow")
    if length < 0 or not 0 <= start <= x.shape[k] - length:
        raise Malformed("range of narrow")
    return [part(x, k, start, length)]


def _select(operands, attributes):
    values = with_defaults({"dim": REQUIRED, "index": REQUIRED}, attributes)
    (x,) = operands
    k = dimension(values["dim"], len(x.shape))
    if not -x.shape[k] <= whole(values["index"]) < x.shape[k]:
        raise Malformed("index of select")
    result = part(x, k, values["index"] % x.shape[k], 1)
    result.shape = x.shape[:k] + x.shape[k + 1:]
    return [result]


def _flip(operands, attributes):
    (x,) = operands
    dims = [dimension(k, len(x.shape)) for k in wholes(with_defaults({"dims": REQUIRED}, attributes)["dims"])]
    if len(set(dims)) < len(dims):
        raise Malformed("a dimension is listed twice")
    return [Tensor.build(x.shape, lambda index: x.at(
        *(e - 1 - i if k in dims else i for k, (i, e) in enumerate(zip(index, x.shape)))), x.kind)]


def _pad(operands, attributes):
    values = with_defaults({"pad": REQUIRED, "value": 0}, attributes)
    (x,) = operands
    pad = wholes(values["pad"])
    if len(pad) % 2 or len(pad) > 2 * len(x.shape):
        raise Malformed("pairs of pad")
    if any(p < 0 for p in pad):
        raise Undecided("negative margins")
    before, shape = [0] * len(x.shape), list(x.shape)
    for j in range(len(pad) // 2):
        before[-1 - j] = pad[2 * j]
        shape[-1 - j] += pad[2 * j] + pad[2 * j + 1]

    def element(index):
        own = [i - b for i, b in zip(index, before)]
        inside = all(0 <= i < e for i, e in zip(own, x.shape))
        return x.at(*own) if inside else values["value"]
    return [Tensor.build(shape, element, x.kind)]


def concatenated(tensors, k):
    shape = list(tensors[0].shape)
    if any(len(t.shape) != len(shape) or t.shape[:k] + t.shape[k + 1:] != tuple(shape[:k] + shape[k + 1:])
           for t in tensors):
        raise Malformed("shapes of concatenated tensors")
    source = [(t, i) for t in tensors for i in range(t.shape[k])]
    shape[k] = len(source)

    def element(index):
        t, i = source[index[k]]
        return t.at(*index[:k], i, *index[k + 1:])
    return Tensor.build(shape, element, promoted(tensors))


def _concat(operands, attributes):
    k = dimension(with_defaults({"dim": 0}, attributes)["dim"], len(operands[0].shape))
    return [concatenated(operands, k)]


def _unsqueezed(x, k):
    return Tensor(x.shape[:k] + (1,) + x.shape[k:], list(x.flat), x.kind)


def _stack(operands, attributes):
    k = dimension(with_defaults({"dim": 0}, attributes)["dim"], len(operands[0].shape) + 1)
    if any(t.shape != operands[0].shape for t in operands):
        raise Malformed("shapes of stacked tensors")
    return [concatenated([_unsqueezed(t, k) for t in operands], k)]


def _unsqueeze(operands, attributes):
    (x,) = operands
    return [_unsqueezed(x, dimension(with_defaults({"dim": REQUIRED}, attributes)["dim"], len(x.shape) + 1))]


def _squeeze(operands, attributes):
    (x,) = operands
    dim = with_defaults({"dim": None}, attributes)["dim"]
    named = range(len(x.shape)) if dim is None else [dimension(k, len(x.shape)) for k in wholes(dim)]
    return [Tensor([e for k, e in enumerate(x.shape) if k not in named or e != 1], list(x.flat), x.kind)]


def _expand(operands, attributes):
    (x,) = operands
    size = wholes(with_defaults({"size": REQUIRED}, attributes)["size"])
    new = len(size) - len(x.shape)
    if new < 0 or -1 in size[:new]:
        raise Malformed("extents of expand")
    size = size[:new] + [own if e == -1 else e for own, e in zip(x.shape, size[new:])]
    if any(own not in (1, e) for own, e in zip(x.shape, size[new:])):
        raise Malformed("extents of expand")
    return [Tensor.build(size, lambda index: x.at(
        *(0 if e == 1 else i for i, e in zip(index[new:], x.shape))), x.kind)]


def _repeat(operands, attributes):
    (x,) = operands
    times = wholes(with_defaults({"repeats": REQUIRED}, attributes)["repeats"])
    new = len(times) - len(x.shape)
    if new < 0 or any(t < 0 for t in times):
        raise Malformed("repeats")
    inner = (1,) * new + x.shape
    return [Tensor.build([t * e for t, e in zip(times, inner)], lambda index: x.at(
        *(i % e for i, e in zip(index[new:], x.shape))), x.kind)]


def _repeat_interleave(operands, attributes):
    values = with_defaults({"repeats": REQUIRED, "dim": REQUIRED}, attributes)
    (x,) = operands
    k, times = dimension(values["dim"], len(x.shape)), whole(values["repeats"])
    if times < 0:
        raise Malformed("repeats")
    shape = list(x.shape)
    shape[k] *= times
    return [Tensor.build(shape, lambda index: x.at(*index[:k], index[k] // times, *index[k + 1:]), x.kind)]


def _split_sizes(x, k, sizes):
    results, at = [], 0
    for size in sizes:
        results.append(part(x, k, at, size))
        at += size
    return results


def _split(operands, attributes):
    values = with_defaults({"split_size_or_sections": REQUIRED, "dim": 0}, attributes)
    (x,) = operands
    k, sizes = dimension(values["dim"], len(x.shape)), values["split_size_or_sections"]
    if not isinstance(sizes, list):
        if whole(sizes) < 1:
            raise Malformed("size of pieces")
        sizes = [min(sizes, x.shape[k] - at) for at in range(0, x.shape[k], sizes)]
    if sum(sizes) != x.shape[k] or any(s < 0 for s in sizes):
        raise Malformed("sizes of pieces")
    return _split_sizes(x, k, sizes)


def _chunk(operands, attributes):
    values = with_defaults({"chunks": REQUIRED, "dim": 0}, attributes)
    (x,) = operands
    k = dimension(values["dim"], len(x.shape))
    if whole(values["chunks"]) < 1:
        raise Malformed("number of chunks")
    size = -(-x.shape[k] // values["chunks"])
    return _split_sizes(x, k, [min(size, x.shape[k] - at) for at in range(0, x.shape[k], size)])


def _einsum(operands, attributes):
    equation = with_defaults({"equation": REQUIRED}, attributes)["equation"].replace(" ", "")
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands) or "->" not in equation:
        raise Undecided("equation of einsum")
    extents = {}
    for term, x in zip(terms, operands):
        if len(term) != len(x.shape) or len(set(term)) < len(term):
            raise Malformed("equation of einsum")
        for letter, extent in zip(term, x.shape):
            if extents.setdefault(letter, extent) != extent:
                raise Malformed("extents of einsum")
    inner = [letter for letter in extents if letter not in right]

    def element(index):
        own, total = dict(zip(right, index)), 0
        for step in indices([extents[letter] for letter in inner]):
            own.update(zip(inner, step))
            product = 1
            for term, x in zip(terms, operands):
                product = product * x.at(*(own[letter] for letter in term))
            total = total + product
        return total
    return [Tensor.build([extents[letter] for letter in right], element, promoted(operands))]


MOVEMENT = {
    "identity": _copy, "clone": _copy, "contiguous": _copy, "detach": _copy, "multiref": _multiref,
    "float": _as("float32"), "double": _as("float64"), "half": _as("float16"), "bfloat16": _as("bfloat16"),
    "long": _as("int64"), "view": _view, "reshape": _reshape, "flatten": _flatten, "permute": _permute,
    "transpose": _transpose, "t": _t, "slice": _slice, "narrow": _narrow, "select": _select, "flip": _flip,
    "pad": _pad, "concat": _concat, "cat": _concat, "stack": _stack, "unsqueeze": _unsqueeze,
    "squeeze": _squeeze, "expand": _expand, "repeat": _repeat, "repeat_interleave": _repeat_interleave,
    "split": _split, "chunk": _chunk, "einsum": _einsum,
}
