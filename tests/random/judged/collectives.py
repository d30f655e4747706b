"""What collectives compute: from the tensors of all ranks of a group, in order, the result on one rank."""
from fractions import Fraction

from movement import concatenated, part
from tape import divide, largest, smallest
from tensors import Malformed, REAL_TYPES, Tensor, size_of

REDUCING = ("all_reduce", "reduce_scatter", "reduce", "accumulate")
WITHIN = ("all_reduce", "accumulate", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "permute",
          "chunk")
BETWEEN = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
KEYS = {"all_reduce": ["reduce"], "accumulate": [], "all_gather": ["dim"], "reduce_scatter": ["dim", "reduce"],
        "all_to_all": ["split_dim", "concat_dim"], "broadcast": ["root"], "reduce": ["root"],
        "permute": ["pairs", "shift"], "chunk": ["dim"]}
REQUIRED_KEYS = {"all_gather": ["dim"], "reduce_scatter": ["dim"], "all_to_all": ["split_dim", "concat_dim"],
                 "broadcast": ["root"], "reduce": ["root"], "chunk": ["dim"]}


def agreed(operators):
    """Participants agree in kind and keys (an all_gather's `dim` apart)."""
    def key(operator):
        return [operator["op"], operator.get("over")] + [
            operator.get(k, "sum" if k == "reduce" else None) for k in KEYS[operator["op"]]]
    return all(key(operator) == key(operators[0]) for operator in operators)


def reduced(tensors, kind):
    if any(t.shape != tensors[0].shape for t in tensors):
        raise Malformed("shapes of a reduction differ")
    if tensors[0].kind not in REAL_TYPES + ("int64", "int32") and kind in ("sum", "avg"):
        raise Malformed("nothing is computed in a narrow type")
    combine = {"sum": sum, "avg": lambda row: divide(sum(row), len(row)),
               "max": lambda row: largest(row, None), "min": lambda row: smallest(row, None)}.get(kind)
    if combine is None:
        raise Malformed(f"unknown reduction {kind!r}")
    return Tensor(tensors[0].shape, [combine(list(row)) for row in zip(*(t.flat for t in tensors))],
                  tensors[0].kind)


def _dimension(x, k):
    if not isinstance(k, int) or isinstance(k, bool) or not -len(x.shape) <= k < len(x.shape):
        raise Malformed(f"no dimension {k!r}")
    return k % len(x.shape)


def piece(x, k, rank, count):
    """The rank's chunk of `count` equal ones along dimension k."""
    k = _dimension(x, k)
    if x.shape[k] % count:
        raise Malformed("a dimension does not divide")
    size = x.shape[k] // count
    return part(x, k, rank * size, size)


def sources(operator, count, rank):
    """The ranks whose tensors the result on `rank` is made of."""
    if operator["op"] == "chunk":
        return [rank]
    if operator["op"] == "permute":
        return [source for source, target in _pairs(operator, count) if target == rank]
    return list(range(count))


def result(operator, tensors, rank, unspecified, form=None):
    """The result on `rank`, a position in the group; `unspecified()` gives a number that nobody else has.

    Tensors of ranks that are no sources may be None; `form` is then the shape and the element type of each.
    """
    name, count, own = operator["op"], len(tensors), tensors[rank]
    if name == "accumulate":
        return reduced(tensors, "sum")
    if name == "all_reduce":
        return reduced(tensors, operator.get("reduce", "sum"))
    if name == "all_gather":
        return concatenated(tensors, _dimension(own, operator["dim"]))
    if name == "reduce_scatter":
        return piece(reduced(tensors, operator.get("reduce", "sum")), operator["dim"], rank, count)
    if name == "all_to_all":
        return concatenated([piece(t, operator["split_dim"], rank, count) for t in tensors],
                            _dimension(own, operator["concat_dim"]))
    if name == "chunk":
        return piece(own, operator["dim"], rank, count)
    if name == "permute":
        return _permuted(operator, tensors, rank, form or (own.shape, own.kind))
    root = operator["root"]
    if not isinstance(root, int) or not 0 <= root < count:
        raise Malformed("root is no rank")
    if name == "broadcast":
        return Tensor(tensors[root].shape, list(tensors[root].flat), own.kind)
    total = reduced(tensors, "sum")
    return total if rank == root else Tensor(total.shape, [unspecified() for _ in total.flat], total.kind)


def _pairs(operator, count):
    """[(sender, receiver)] of a permute."""
    if ("pairs" in operator) == ("shift" in operator):
        raise Malformed("permute has pairs or a shift")
    if "shift" in operator:
        return [(r, (r + operator["shift"]) % count) for r in range(count)]
    pairs = operator["pairs"]
    if not pairs or any(not 0 <= r < count for pair in pairs for r in pair) or any(
            len({pair[side] for pair in pairs}) < len(pairs) for side in (0, 1)):
        raise Malformed("pairs of a permute")
    return [tuple(pair) for pair in pairs]


def _permuted(operator, tensors, rank, form):
    for source in sources(operator, len(tensors), rank):
        return Tensor(form[0], list(tensors[source].flat), form[1])
    return Tensor(form[0], [0] * size_of(form[0]), form[1])


class Unspecified:
    """Real numbers that nobody knows, each another one."""

    def __init__(self, random):
        self.random = random

    def __call__(self):
        return Fraction(self.random.randrange(-10 ** 6, 10 ** 6), 9973)
