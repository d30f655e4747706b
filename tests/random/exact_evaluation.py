"""Plan files (docs/plan-format.md) with one program, evaluated in exact fractions.

Shares nothing with planproof: it reads the file, and what each operator means is written down here once more. It knows what
constant_index_generator.py writes.
"""
import itertools
import random
from collections import Counter
from fractions import Fraction


class Array:
    """Numbers in row-major order."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), values

    @staticmethod
    def of(shape, element):
        shape = tuple(shape)
        return Array(shape, [element(i) for i in indices(shape)])

    def __getitem__(self, index):
        at = 0
        for i, extent in zip(index, self.shape):
            if not 0 <= i < extent:
                raise IndexError(f"{index} of {self.shape}")
            at = at * extent + i
        return self.values[at]


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


def expression(text, names):
    """An integer expression of the plan format; / rounds down."""
    return eval(str(text).replace("/", "//"), {"__builtins__": {}}, dict(names))


def broadcast(a, shape):
    lead = len(shape) - len(a.shape)
    return Array.of(shape, lambda i: a[[0 if n == 1 else k for k, n in zip(i[lead:], a.shape)]])


def broadcast_shape(a, b):
    longest = max(len(a), len(b))
    a, b = (1,) * (longest - len(a)) + a, (1,) * (longest - len(b)) + b
    return tuple(max(x, y) if 1 in (x, y) or x == y else 1 / 0 for x, y in zip(a, b))


def without(index, dims):
    return tuple(k for d, k in enumerate(index) if d not in dims)


def concatenate(parts, dim):
    shape = list(parts[0].shape)
    shape[dim] = sum(p.shape[dim] for p in parts)

    def element(index):
        index, part = list(index), 0
        while index[dim] >= parts[part].shape[dim]:
            index[dim] -= parts[part].shape[dim]
            part += 1
        return parts[part][index]

    return Array.of(shape, element)


def cut(x, dim, start, stop):
    shape = list(x.shape)
    shape[dim] = stop - start
    return Array.of(shape, lambda i: x[i[:dim] + (i[dim] + start,) + i[dim + 1:]])


def reduced(x, dims, keep):
    shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
    totals = Counter()
    for i, value in zip(indices(x.shape), x.values):
        totals[tuple(0 if d in dims else k for d, k in enumerate(i))] += value
    values = [totals[i] for i in indices(shape)]
    return Array(shape if keep else without(shape, dims), values)


def matmul(x, y):
    total = range(x.shape[1])
    return Array.of((x.shape[0], y.shape[1]),
                    lambda i: sum(x[i[0], k] * y[k, i[1]] for k in total))


def apply(op, x, attrs):
    """An operator of one result; x: its operands."""
    a = x[0]
    if op in ("add", "sub", "mul", "maximum"):
        shape = broadcast_shape(x[0].shape, x[1].shape)
        left, right = (broadcast(t, shape).values for t in x)
        function = {"add": lambda p, q: p + q, "sub": lambda p, q: p - q, "mul": lambda p, q: p * q,
                    "maximum": max}[op]
        return Array(shape, [function(p, q) for p, q in zip(left, right)])
    if op in ("identity", "neg", "square", "relu", "abs"):
        function = {"identity": lambda p: p, "neg": lambda p: -p, "square": lambda p: p * p,
                    "relu": lambda p: max(p, 0), "abs": abs}[op]
        return Array(a.shape, [function(p) for p in a.values])
    if op == "slice":
        return cut(a, attrs["dim"], attrs["start"], attrs["stop"])
    if op == "narrow":
        return cut(a, attrs["dim"], attrs["start"], attrs["start"] + attrs["length"])
    if op == "select":
        d, k = attrs["dim"], attrs["index"]
        return Array.of(without(a.shape, [d]), lambda i: a[i[:d] + (k,) + i[d:]])
    if op == "unsqueeze":
        d = attrs["dim"]
        return Array(a.shape[:d] + (1,) + a.shape[d:], a.values)
    if op == "squeeze":
        return Array(without(a.shape, [attrs["dim"]]), a.values)
    if op == "view":
        return Array(attrs["size"], a.values)
    if op == "expand":
        return broadcast(a, tuple(attrs["size"]))
    if op == "concat":
        return concatenate(x, attrs["dim"])
    if op == "stack":
        return concatenate([apply("unsqueeze", [t], attrs) for t in x], attrs["dim"])
    if op == "pad":
        margins = attrs["pad"]
        before = [margins[2 * (len(a.shape) - 1 - d)] for d in range(len(a.shape))]
        after = [margins[2 * (len(a.shape) - 1 - d) + 1] for d in range(len(a.shape))]
        shape = [n + p + q for n, p, q in zip(a.shape, before, after)]

        def element(index):
            inner = [i - p for i, p in zip(index, before)]
            return a[inner] if all(0 <= i < n for i, n in zip(inner, a.shape)) else attrs.get("value", 0)

        return Array.of(shape, element)
    if op == "flip":
        return Array.of(a.shape, lambda i: a[[n - 1 - k if d in attrs["dims"] else k
                                              for d, (k, n) in enumerate(zip(i, a.shape))]])
    if op in ("permute", "transpose"):
        dims = list(attrs["dims"]) if op == "permute" else list(range(len(a.shape)))
        if op == "transpose":
            p, q = attrs["dim0"], attrs["dim1"]
            dims[p], dims[q] = dims[q], dims[p]
        return Array.of([a.shape[d] for d in dims], lambda i: a[[i[dims.index(d)] for d in range(len(dims))]])
    if op in ("sum", "mean"):
        total = reduced(a, [attrs["dim"]], attrs.get("keepdim", False))
        if op == "sum":
            return total
        return Array(total.shape, [Fraction(v, a.shape[attrs["dim"]]) for v in total.values])
    if op == "matmul":
        return matmul(x[0], x[1])
    if op == "linear":
        return matmul(x[0], apply("transpose", [x[1]], {"dim0": 0, "dim1": 1}))
    raise NotImplementedError(op)


def evaluate_model(specification, inputs):
    tensors = dict(inputs)
    for operator in specification["operators"]:
        tensors[operator["out"]] = evaluate_operator(operator, tensors, {})
    return tensors


def operands(operator):
    given = operator["in"]
    return given if isinstance(given, list) else [given]


def evaluate_operator(operator, tensors, names):
    values = [tensors[t] if isinstance(t, str) else Array((), [Fraction(t)]) for t in operands(operator)]
    attrs = {key: expression(value[1:], names) if isinstance(value, str) and value.startswith("=") else value
             for key, value in operator.get("attrs", {}).items()}
    return apply(operator["op"], values, attrs)


class PlanJudge:
    """Values of all tensors of a plan's only program, by rank."""

    def __init__(self, file):
        self.specification, self.plan = file["specification"], file["plan"]
        self.mesh = self.plan["mesh"]
        self.ranks = list(indices(self.mesh.values()))
        [self.program] = self.plan["programs"]

    def names(self, rank):
        return dict(zip(self.mesh, rank))

    def held(self, name, relation, whole, rank):
        """What a relation says that a rank holds."""
        x = whole[relation.get("of", name)]
        if "map" in relation:
            def element(index):
                names = {**self.names(rank), **{f"i{d}": k for d, k in enumerate(index)}}
                return x[[expression(e, names) for e in relation["map"]]]
            return Array.of(relation["shape"], element)
        for d in range(len(x.shape)):
            how = relation.get(str(d))
            if isinstance(how, str):
                part = x.shape[d] // self.mesh[how]
                x = cut(x, d, self.names(rank)[how] * part, (self.names(rank)[how] + 1) * part)
            elif how is not None:
                x = cut(x, d, *how)
        return x

    def collective(self, operator, tensors, rank):
        axis = list(self.mesh).index(operator["over"])
        group = [rank[:axis] + (r,) + rank[axis + 1:] for r in range(self.mesh[operator["over"]])]
        parts = [tensors[r][operator["in"]] for r in group]
        own, size, op = rank[axis], len(group), operator["op"]
        if op in ("all_reduce", "reduce_scatter"):
            total = parts[0]
            for part in parts[1:]:
                total = apply("add", [total, part], {})
            if operator.get("reduce") == "avg":
                total = apply("mul", [total, Array((), [Fraction(1, size)])], {})
            parts, own_part = None, total
            if op == "all_reduce":
                return own_part
        elif op == "all_gather":
            return concatenate(parts, operator["dim"])
        elif op == "broadcast":
            return parts[operator["root"]]
        elif op == "permute":
            return parts[(own - operator["shift"]) % size]
        elif op == "chunk":
            own_part = parts[own]
        else:
            raise NotImplementedError(op)
        length = own_part.shape[operator["dim"]] // size
        return cut(own_part, operator["dim"], own * length, (own + 1) * length)

    def outputs(self, inputs):
        """Of each required output and rank: what is required, and what is computed."""
        whole = evaluate_model(self.specification, inputs)
        tensors = {rank: {name: self.held(name, relation, whole, rank)
                          for name, relation in self.program["inputs"].items()} for rank in self.ranks}
        instead = {e["replace"]: e for e in self.program.get("exceptions", [])}
        for operator in self.program["operators"]:
            out = operator["out"]
            values = {}
            for rank in self.ranks:
                if "over" in operator:
                    values[rank] = self.collective(operator, tensors, rank)
                    continue
                values[rank] = evaluate_operator(operator, tensors[rank], self.names(rank))
                exception = instead.get(out)
                if exception and all(self.names(rank)[a] == k for a, k in exception["at"].items()):
                    local = dict(tensors[rank])
                    for step in exception["with"]:
                        local[step["out"]] = evaluate_operator(step, local, self.names(rank))
                    values[rank] = local[out]
            for rank in self.ranks:
                tensors[rank][out] = values[rank]
        for name, relation in self.specification["outputs"].items():
            tensor = self.program["outputs"][name]
            for rank in self.ranks:
                yield self.held(name, relation, whole, rank), tensors[rank][tensor]

    def right(self, seed, samples=5):
        rng = random.Random(f"judge {seed}")
        for _ in range(samples):
            inputs = {name: Array.of(shape, lambda _: rng.randint(-60, 60))
                      for name, shape in self.specification["inputs"].items()}
            for wanted, computed in self.outputs(inputs):
                if wanted.shape != computed.shape:
                    raise ValueError(f"{computed.shape} for {wanted.shape}")
                if wanted.values != computed.values:
                    return False
        return True
