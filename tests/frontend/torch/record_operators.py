"""Records ATen operators one by one, with the values that PyTorch computes, for aten_operators_test.cc.

    record_operators.py OUT.json.gz

Each case is a trace of one process with its inputs' and results' values, in double precision. Regenerate with the Python of
scripts/setup_torch.sh."""
import gzip
import json
import os
import random
import sys
import tempfile

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "python"))

from planproof.torch import record  # noqa: E402
from planproof.torch.trace_file import load, values_path  # noqa: E402

from torchtitan.ops import scatter_add  # noqa: E402, F401, registers an operator

aten = torch.ops.aten
GENERATOR = torch.Generator().manual_seed(7)
NUMBERS = random.Random(7)
CASES = 20


def real(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


def positive(*shape):
    return torch.rand(*shape, generator=GENERATOR, dtype=torch.float64) + 0.5


def whole(most, *shape):
    return torch.randint(most, shape, generator=GENERATOR)


def number(least, most):
    return NUMBERS.randint(least, most)


def strided(x):
    """The same values in memory of other strides, or as they are."""
    kind = number(0, 3)
    if kind == 0 and x.dim() >= 2:
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if kind == 1 and x.dim() >= 1:
        return torch.stack([x, x + 1], -1)[..., 0]
    if kind == 2 and x.dim() >= 1:
        return torch.cat([x[:1], x])[1:]
    return x


def shape(most_dims=3):
    return [number(1, 4) for _ in range(number(1, most_dims))]


def broadcast(like):
    return [extent if number(0, 2) else 1 for extent in like[number(0, len(like) - 1):]]


def distinct(*shape):
    """Integers of the last dimension in some order, without repetition."""
    return torch.stack([torch.randperm(shape[-1], generator=GENERATOR) for _ in range(max(1, int(numpy.prod(shape[:-1]))))]).view(shape)


def routing_cases():
    """Orders, counts, products by groups; writes at indices that are data."""
    yield "topk", lambda: [strided(real(3, 5))], lambda x: aten.topk(x, number(1, 4), 1, bool(number(0, 1)))
    yield "topk dim 0", lambda: [strided(real(4, 3))], lambda x: aten.topk(x, 2, 0)
    yield "topk unsorted", lambda: [strided(real(3, 5))], lambda x: aten.sum(aten.topk(x, 3, 1, True, False)[0], [1])
    yield "sort", lambda: [strided(real(3, 4))], lambda x: aten.sort(x, number(-1, 1), bool(number(0, 1)))
    yield "sort stable", lambda: [whole(3, 4, 2)], lambda x: aten.sort(x.view(8), stable=True)
    yield "argsort", lambda: [strided(real(3, 4))], lambda x: aten.argsort(x, stable=True, dim=-1, descending=True)
    yield "argmax", lambda: [strided(real(3, 4))], lambda x: (aten.argmax(x, -1, bool(number(0, 1))), aten.argmin(x, 0), aten.argmax(x))
    yield "histc", lambda: [strided(real(4, 5))], lambda x: aten.histc(x, number(1, 5), -1, 1)
    yield "histc whole", lambda: [whole(5, 12) - 1], lambda x: aten.cumsum(aten.histc(x.double(), 4, 0, 3), 0, dtype=torch.int32)
    yield "bincount", lambda: [whole(4, 7), real(7)], lambda x, w: (aten.bincount(x, None, 4), aten.bincount(x, w, 4))
    yield "cumsum to integers", lambda: [real(2, 5)], lambda x: aten.cumsum(x > 0, 1, dtype=torch.int32)
    yield "sum to integers", lambda: [real(2, 5)], lambda x: aten.sum(x > 0, [1], dtype=torch.int64)
    yield "floor_divide", lambda: [whole(20, 3, 4) - 10], lambda x: (aten.floor_divide(x, number(1, 5)), aten.remainder(x, 3))

    def offsets(last):
        return torch.cumsum(torch.multinomial(torch.ones(3), last, True, generator=GENERATOR).bincount(minlength=3), 0).int()

    def small(*shape):
        return whole(7, *shape).double() - 3    # exact in single precision, which the kernel has

    def grouped(x, w, offs=None):
        return aten._grouped_mm(x.float(), w.float(), offs).double()
    yield "_grouped_mm rows", lambda: [small(6, 4), small(3, 4, 8), offsets(6)], grouped
    yield "_grouped_mm columns", lambda: [small(3, 2, 4), small(4, 8), offsets(8)], grouped
    yield "_grouped_mm inner", lambda: [small(2, 8), small(8, 4), offsets(number(6, 8))], grouped
    yield "_grouped_mm batch", lambda: [small(3, 2, 4), small(3, 4, 8)], grouped

    yield "scatter", lambda: [strided(real(3, 5)), distinct(3, 5)[:, :2], real(3, 2)], lambda x, i, v: aten.scatter(x, 1, i, v)
    yield "scatter number", lambda: [strided(real(3, 5)), whole(5, 3, 2)], lambda x, i: aten.scatter(x, -1, i, 1.5)
    yield "scatter truth", lambda: [real(3, 5), whole(5, 3, 2)], lambda x, i: aten.scatter_(x > 1, 1, i, True)
    yield "scatter_", lambda: [real(3, 5), distinct(3, 5)[:, :2], real(3, 2)], lambda x, i, v: aten.scatter_(x, 1, i, v)
    yield "scatter_add", lambda: [strided(real(4, 3)), whole(4, 5, 3), strided(real(5, 3))], lambda x, i, v: aten.scatter_add(x, 0, i, v)
    yield "scatter_add_ ints", lambda: [whole(9, 4), whole(4, 6), whole(5, 6)], lambda x, i, v: aten.scatter_add_(x, 0, i, v)
    yield "deterministic_scatter_add", lambda: [real(4, 3), whole(4, 5), real(5, 3)], lambda x, i, v: (
        torch.ops.torchtitan.deterministic_scatter_add(x, i[:, None].expand(5, 3), v))
    yield "index_add", lambda: [strided(real(4, 3)), whole(4, 5), strided(real(5, 3))], lambda x, i, v: aten.index_add(x, 0, i, v, alpha=0.5)
    yield "index_copy", lambda: [strided(real(4, 3)), distinct(4)[:2], real(2, 3)], lambda x, i, v: aten.index_copy(x, 0, i, v)
    yield "index_put add", lambda: [strided(real(4, 3)), whole(8, 5) - 4, strided(real(5, 3))], lambda x, i, v: aten.index_put(x, [i], v, True)
    yield "index_put add pairs", lambda: [strided(real(4, 5, 2)), whole(4, 3, 1), whole(5, 1, 2), real(2, 2)], lambda x, i, j, v: aten.index_put(
        x, [i, j], v, True)
    yield "index_put once", lambda: [strided(real(4, 3)), distinct(4)[:2], real(2, 3)], lambda x, i, v: aten.index_put(x, [i], v)

    def inverse(p, v):
        made = aten.empty_like(p)
        aten.index_put_(made, [p], aten.arange(p.size(0)))
        rows = aten.empty_like(v)
        aten.index_put_(rows, [p], v)
        return made, aten.index(v, [made]), rows
    yield "index_put new memory", lambda: [distinct(5), real(5, 2)], inverse


def sorted_rows(x, w, scores, other, sort=lambda ids: aten.sort(ids), count=None, ends=None, ids=None):
    """What a mixture of experts does with rows that are sorted by expert: products by groups forward and backward, and
    rows put back in two ways. `count`, `ends` and `ids` say otherwise how often experts occur, where groups end, and
    which experts there are."""
    experts = scores.size(1)
    chosen = aten.topk(scores, 2)[1]
    flat = (ids or (lambda chosen: chosen))(chosen).view(-1)
    values, order = sort(flat)
    counts = aten.histc(values.double(), experts, 0, experts - 1)
    if count:
        counts = count(values, order, aten.topk(other, 2)[1], chosen)
    offsets = (ends or (lambda counts: aten.cumsum(counts, 0, dtype=torch.int32)))(counts)
    token = aten.floor_divide(order, 2)
    rows = aten.index(x, [token])
    inverse = aten.empty_like(order)
    aten.index_put_(inverse, [order], aten.arange(order.size(0)))

    def product(a, b):
        return aten._grouped_mm(a.float(), b.float(), offsets).double()
    gradient = product(rows.t(), aten.relu(rows))
    results = [gradient, aten.index_put(aten.zeros_like(x), [token], rows, True), aten.index(rows, [inverse]),
               aten.index(aten.index_put(aten.zeros_like(rows), [inverse], rows, True), [inverse])]
    if ends is None:     # every row belongs to a group
        y = product(rows, w)
        columns = product(w[:, :2, :4], rows.t())
        results += [aten.index(aten.relu(product(rows, w)), [inverse]), aten.index(y, [inverse]), y,
                    aten.index(columns.t(), [inverse]), aten.sum(aten.relu(y), [0])]
    return results + [aten.cumsum(rows, 0), aten.sum(rows[:5], [0]), aten.argmax(rows, 0), aten.mul(rows, aten.arange(order.size(0))[:, None]),
                      rows + 0]


def marked(value, order, other, chosen):
    """How often each of three experts is chosen, by a map of what is."""
    return aten.sum(aten.scatter_(torch.zeros(chosen.size(0), 3, dtype=torch.bool), -1, chosen, True), [0])


def sorted_cases():
    """Rows sorted by expert (frontend/torch/sorted_rows.h), as they should be, and otherwise in one respect each."""
    def data():
        def small(*shape):
            return whole(7, *shape).double() - 3
        return [small(6, 4), small(3, 4, 8), real(6, 3), real(6, 3)]

    def inclusive(counts):
        return aten.cumsum(counts, 0, dtype=torch.int32)

    def case(**options):
        return data, lambda *tensors: sorted_rows(*tensors, **options)
    yield "sorted rows", *case()
    yield "sorted rows stable", *case(sort=lambda ids: aten.sort(ids, stable=True))
    yield "sorted rows bincount", *case(count=lambda v, p, o, c: aten.bincount(v, None, 3))
    yield "sorted rows marked", *case(count=marked)
    yield "sorted rows descending", *case(sort=lambda ids: aten.sort(ids, -1, True))
    yield "sorted rows of others", *case(sort=lambda ids: (ids + 0, aten.sort(aten.mul(ids, -1))[1]))
    yield "sorted rows, others counted", *case(count=lambda v, p, o, c: aten.histc(o.double(), 3, 0, 2))
    yield "sorted rows, others marked", *case(count=lambda v, p, o, c: marked(v, p, c, o))
    yield "sorted rows, order counted", *case(count=lambda v, p, o, c: aten.histc(p.double(), 3, 0, 2), ends=inclusive)
    yield "sorted rows, another bin", *case(count=lambda v, p, o, c: aten.histc(v.double(), 3, 0, 1), ends=inclusive)
    yield "sorted rows, all marked", *case(
        count=lambda v, p, o, c: aten.sum(aten.scatter_(torch.ones(6, 3, dtype=torch.bool), -1, c[:, :1], True), [0]),
        ends=lambda c: aten.clamp(aten.cumsum(c, 0, dtype=torch.int32), 0, 12))
    yield "sorted rows, exclusive ends", *case(ends=lambda c: aten.sub(aten.cumsum(c, 0, dtype=torch.int32), c.int()))
    yield "sorted rows, ends that are counts", *case(ends=lambda c: aten.clamp(c.int(), 4, 4))
    yield "sorted rows, expert out of range", *case(ids=lambda c: c + 1, ends=inclusive)
    yield "sorted rows, expert below", *case(ids=lambda c: c - 1, ends=inclusive)


def mask_cases():
    """Elements at which a mask is true: their number is that of the trace."""
    yield "nonzero", lambda: [real(2, 3, 2)], lambda x: aten.nonzero(x > 0)
    yield "masked_select", lambda: [strided(real(3, 4)), real(4)], lambda x, m: aten.masked_select(x, m > 0)
    yield "masked_select ints", lambda: [whole(9, 3, 4), real(3, 4)], lambda x, m: aten.masked_select(x, m > 0)
    yield "masked_scatter", lambda: [strided(real(3, 4)), real(3, 1), strided(real(4, 3))], lambda x, m, v: aten.masked_scatter(x, m > 0, v)
    yield "masked_scatter_", lambda: [real(3, 4), real(3, 4), real(12)], lambda x, m, v: aten.masked_scatter_(x, m > 0, v)
    yield "index mask", lambda: [strided(real(4, 3)), real(4)], lambda x, m: aten.index(x, [m > 0])
    yield "index mask 2", lambda: [strided(real(4, 3, 2)), real(4, 3)], lambda x, m: aten.index(x, [m > 0])
    yield "index_put by mask", lambda: [real(4, 3), torch.tensor([1., -1., 2., 3.]).double()[distinct(4)], real(3, 3)], lambda x, m, v: (
        aten.index_put(x, [m > 0], v), aten.index_put(x, [m > 0], v, True))
    yield "repeat_interleave", lambda: [whole(3, 4) + 1], lambda r: aten.repeat_interleave(r)


def complex_cases():
    """Complex numbers: products, quotients by real numbers, rows, conjugates."""
    as_complex, as_real = aten.view_as_complex, aten.view_as_real
    yield "complex mul", lambda: [strided(real(3, 4, 2)), real(4, 2)], lambda x, y: as_real(aten.mul(
        as_complex(x.contiguous()), as_complex(y)))
    yield "complex mul conj", lambda: [real(3, 4, 2), real(3, 1, 2)], lambda x, y: as_real(aten.mul(
        as_complex(x), as_complex(y).conj()))
    yield "complex mul real", lambda: [real(3, 4, 2), strided(real(3, 4)), real(1)[0]], lambda x, y, z: as_real(aten.div(aten.mul(
        aten.mul(y, aten.mul(as_complex(x), 0.5)), z), 2.5))
    yield "complex mul number", lambda: [real(3, 4, 2)], lambda x: as_real(aten.mul(as_complex(x), 0.5 - 2j))
    yield "complex add", lambda: [real(3, 4, 2), real(4, 2)], lambda x, y: as_real(aten.sub(aten.add(
        as_complex(x), as_complex(y), alpha=2), as_complex(y)))
    yield "complex copies", lambda: [real(3, 4, 2), real(3, 2)], lambda x, y: as_real(
        aten.zeros_like(as_complex(x)).copy_(aten.neg(as_complex(x))).add_(as_complex(y)[:, None]))
    yield "complex rows", lambda: [real(5, 3, 2), whole(5, 2, 2)], lambda x, i: as_real(aten.index(as_complex(x), [i]))
    yield "polar", lambda: [positive(3, 4), real(3, 4)], lambda r, a: as_real(aten.polar(r, a))
    yield "complex", lambda: [strided(real(3, 4)), strided(real(3, 4))], lambda x, y: as_real(aten.complex(x, y))

    def rotary(q, angle, g):
        turn = aten.polar(aten.ones_like(angle), angle)
        q = q.clone().requires_grad_()
        with torch.enable_grad():
            turned = torch.view_as_real(torch.view_as_complex(q.reshape(3, 2, 2, 2)) * turn[:, None]).flatten(2)
            return turned.detach(), torch.autograd.grad(turned, q, g)[0]
    yield "rotary", lambda: [real(3, 2, 4), real(3, 2), real(3, 2, 4)], rotary


def cases():
    """(name, inputs, function of these) of every operator."""
    unary = {"neg": real, "sqrt": positive, "rsqrt": positive, "reciprocal": positive, "exp": real, "log": positive, "sin": real,
             "cos": real, "erf": real, "tanh": real, "sigmoid": real, "silu": real, "relu": real, "abs": real, "clone": real,
             "zeros_like": real, "ones_like": real}
    for name, make in unary.items():
        yield name, lambda make=make: [strided(make(*shape()))], getattr(aten, name)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        def two(name=name):
            x = shape()
            return [strided(real(*x)), strided(positive(*broadcast(x)))]
        yield name, two, getattr(aten, name)
    yield "add alpha", lambda: [real(3, 4), real(3, 4)], lambda x, y: aten.add(x, y, alpha=0.25)
    yield "sub scalar", lambda: [strided(real(3, 4))], lambda x: aten.sub(x, 1.5)
    yield "rsub", lambda: [strided(real(3, 4))], lambda x: aten.rsub(x, 1.5, alpha=2)
    yield "pow", lambda: [strided(positive(*shape()))], lambda x: aten.pow(x, 3)
    yield "pow fraction", lambda: [strided(positive(*shape()))], lambda x: aten.pow(x, -0.5)
    for approximate in ("none", "tanh"):
        yield (f"gelu {approximate}", lambda: [strided(real(*shape()))],
               lambda x, a=approximate: aten.gelu(x, approximate=a))
        yield (f"gelu_backward {approximate}", lambda: [strided(real(3, 4)), strided(real(3, 4))],
               lambda g, x, a=approximate: aten.gelu_backward(g, x, approximate=a))
    for name in ("silu_backward", "tanh_backward", "sigmoid_backward"):
        yield name, lambda: [strided(real(3, 4)), strided(real(3, 4))], getattr(aten, name)
    yield ("threshold_backward", lambda: [strided(real(3, 4)), strided(real(3, 4))],
           lambda g, x: aten.threshold_backward(g, x, 0.25))
    yield "expm1", lambda: [strided(real(*shape()))], aten.expm1
    yield "log1p", lambda: [strided(positive(*shape()))], aten.log1p
    for name in ("sign", "sgn"):
        yield name, lambda: [strided(torch.round(real(*shape())))], getattr(aten, name)
    yield "softplus", lambda: [strided(real(*shape()))], aten.softplus
    # Numbers on both sides of the threshold.
    yield "softplus of options", lambda: [strided(real(3, 4))], lambda x: aten.softplus(x, 2.0, 0.5)
    yield ("softplus_backward", lambda: [strided(real(3, 4)), strided(real(3, 4))],
           lambda g, x: (aten.softplus_backward(g, x, 0.5, 0.25), aten.softplus_backward(g, x, 1.5, 20.0)))
    for name in ("addcmul", "addcdiv"):
        yield (name, lambda: [real(3, 4), strided(real(3, 4)), strided(positive(3, 4))],
               lambda x, a, b, f=getattr(aten, name): f(x, a, b, value=-0.75))
        yield (name + "_", lambda: [strided(real(3, 4)), real(3, 4), positive(3, 4)],
               lambda x, a, b, f=getattr(aten, name + "_"): f(x, a, b, value=0.5))
    yield "lerp", lambda: [real(3, 4), strided(real(3, 4))], lambda x, y: aten.lerp(x, y, 0.1)
    yield "lerp_", lambda: [strided(real(3, 4)), real(3, 4)], lambda x, y: aten.lerp_(x, y, 0.9)
    yield "clamp", lambda: [strided(real(*shape()))], lambda x: aten.clamp(x, -0.5, 0.5)
    yield "clamp max", lambda: [strided(real(*shape()))], lambda x: aten.clamp(x, max=0.25)
    yield "where", lambda: [real(3, 4), strided(real(3, 4)), real(4)], lambda c, x, y: aten.where(c > 0, x, y)
    yield "masked_fill", lambda: [real(3, 4), real(3, 1)], lambda x, m: aten.masked_fill(x, m > 0, 2.5)
    yield "logical", lambda: [real(5), real(5)], lambda x, y: aten.where(
        aten.logical_or(x > 0, aten.logical_and(y > 0, aten.logical_not(x < y))), x, y)
    yield "ints", lambda: [whole(9, 3, 4), real(3, 4)], lambda i, x: aten.where(
        aten.logical_and(aten.ge(aten.sub(i, 2), 1), aten.ne(aten.masked_fill(i, i > 6, 0), 4)), x, -x)
    for name in ("sum", "mean", "amax", "amin", "logsumexp"):
        def along(name=name):
            return [strided(real(2, 3, 4))]
        def reduce(x, f=getattr(aten, name)):
            dims = [[0], [1, 2], [-1], [0, 2]][number(0, 3)]
            return f(x, dims, bool(number(0, 1)))
        yield name, along, reduce
    yield "sum all", lambda: [strided(real(*shape()))], lambda x: aten.sum(x)
    yield "mean all", lambda: [strided(real(*shape()))], lambda x: aten.mean(x)
    yield "max all", lambda: [strided(real(*shape()))], lambda x: aten.max(x)
    yield "max dim", lambda: [strided(real(3, 4))], lambda x: [*aten.max(x, -1), *aten.min(x, 0, True)]
    yield "vector_norm", lambda: [strided(real(*shape()))], lambda x: aten.linalg_vector_norm(x, 2)
    yield "vector_norm dim", lambda: [strided(real(3, 4))], lambda x: aten.linalg_vector_norm(x, 2, [1], True)
    yield "_safe_softmax", lambda: [strided(real(2, 3, 4))], lambda x: aten._safe_softmax(x, number(-1, 2))
    yield "isnan isinf", lambda: [strided(real(3, 4))], lambda x: aten.where(aten.logical_or(aten.isnan(x), aten.isinf(x)), -x, x)
    yield "infinity not taken", lambda: [strided(real(3, 4))], lambda x: aten.where(aten.isnan(x), aten.full_like(x, float("inf")), x)
    yield "infinity", lambda: [strided(real(3, 4))], lambda x: [compare(x, limit).double() for limit in (float("inf"), float("nan"))
                                                                for compare in (aten.lt, aten.le, aten.gt, aten.ge, aten.eq, aten.ne)]
    yield "repeat", lambda: [strided(real(2, 3)), whole(9, 4)], lambda x, i: (aten.repeat(x, [2, 1, 3]), aten.repeat(i, [2]))
    for name in ("_softmax", "_log_softmax"):
        yield (name, lambda: [strided(real(2, 3, 4))],
               lambda x, f=getattr(aten, name): f(x, number(-1, 2), False))
        yield (name + "_backward_data", lambda: [strided(real(3, 4)), strided(real(3, 4))],
               lambda g, y, f=getattr(aten, name + "_backward_data"): f(g, y, number(-1, 1), torch.float64))
    yield "cumsum", lambda: [strided(real(3, 4))], lambda x: aten.cumsum(x, 1)
    yield "mm", lambda: [strided(real(3, 4)), strided(real(4, 2))], aten.mm
    yield "bmm", lambda: [strided(real(2, 3, 4)), strided(real(2, 4, 2))], aten.bmm
    yield "mv", lambda: [strided(real(3, 4)), strided(real(4))], aten.mv
    yield "dot", lambda: [strided(real(4)), strided(real(4))], aten.dot
    yield "addmm", lambda: [strided(real(2)), strided(real(3, 4)), strided(real(4, 2))], lambda c, x, y: aten.addmm(
        c, x, y, beta=number(0, 2), alpha=0.5)
    yield "baddbmm", lambda: [real(2, 3, 2), strided(real(2, 3, 4)), strided(real(2, 4, 2))], lambda c, x, y: aten.baddbmm(
        c, x, y, beta=number(0, 2), alpha=0.5)
    yield ("native_layer_norm", lambda: [strided(real(2, 3, 4)), real(4), real(4)],
           lambda x, w, b: aten.native_layer_norm(x, [4], w, b, 1e-5))

    def layer_norm_backward(g, x, w, b):
        y, mean, rstd = aten.native_layer_norm(x, [4], w, b, 1e-5)
        return aten.native_layer_norm_backward(g, x, [4], mean, rstd, w, b, [True, True, True])
    yield "native_layer_norm_backward", lambda: [strided(real(2, 3, 4)), real(2, 3, 4), real(4), real(4)], layer_norm_backward
    yield "embedding", lambda: [real(5, 3), whole(5, 2, 4)], aten.embedding
    yield ("embedding_dense_backward", lambda: [strided(real(2, 4, 3)), whole(5, 2, 4)],
           lambda g, i: aten.embedding_dense_backward(g, i, 5, -1, False))

    def loss(x, t):
        return aten.nll_loss_forward(x, t, None, 1, 2)

    def loss_backward(x, t, g):
        total = aten.nll_loss_forward(x, t, None, number(1, 2), 2)[1]
        return aten.nll_loss_backward(g, x, t, None, number(1, 2), 2, total)
    yield "nll_loss_forward", lambda: [strided(real(4, 5)), torch.cat([torch.tensor([1]), whole(5, 3)])], loss
    yield "nll_loss_backward", lambda: [strided(real(4, 5)), torch.cat([torch.tensor([1]), whole(5, 3)]), real(1)[0]], loss_backward
    for reduction in (0, 1, 2):
        yield (f"mse_loss {reduction}", lambda: [strided(real(3, 4)), real(3, 4)],
               lambda x, y, r=reduction: aten.mse_loss(x, y, r))
        yield (f"mse_loss_backward {reduction}",
               lambda r=reduction: [real(3, 4) if r == 0 else real(1)[0], strided(real(3, 4)), real(3, 4)],
               lambda g, x, y, r=reduction: aten.mse_loss_backward(g, x, y, r))
    yield "cat", lambda: [strided(real(2, 3)), strided(real(2, 1)), real(2, 2)], lambda *x: aten.cat(list(x), 1)
    yield "stack", lambda: [strided(real(2, 3)), strided(real(2, 3))], lambda *x: aten.stack(list(x), number(-1, 2))
    yield "tril", lambda: [strided(real(2, 3, 4))], lambda x: aten.tril(x, number(-1, 1))
    yield "triu", lambda: [strided(real(2, 3, 4))], lambda x: aten.triu(x, number(-1, 1))
    yield "constant_pad_nd", lambda: [strided(real(2, 3))], lambda x: aten.constant_pad_nd(x, [1, 2, 0, 1], 0.5)
    yield "slice_backward", lambda: [real(2, 2)], lambda g: aten.slice_backward(g, [2, 5], 1, 1, 5, 2)
    yield "select_backward", lambda: [real(2, 3)], lambda g: aten.select_backward(g, [2, 4, 3], 1, -2)
    yield "index", lambda: [strided(real(4, 5)), whole(4, 3), whole(5, 3)], lambda x, i, j: aten.index(x, [i, j])
    yield "index rows", lambda: [strided(real(4, 3)), whole(4, 2, 2) - 4], lambda x, i: aten.index(x, [i])
    yield "index_put", lambda: [strided(real(4, 5)), whole(5, 4), real(4)], lambda x, j, v: aten.index_put(
        x, [torch.arange(4), j], v)
    yield "index_put mask", lambda: [real(4, 5), real(4)], lambda x, m: aten.index_put(x, [m > 0], torch.tensor(1.5, dtype=torch.float64))
    yield "gather", lambda: [strided(real(3, 4)), whole(4, 3, 2)], lambda x, i: aten.gather(x, 1, i)
    yield "index_select", lambda: [strided(real(3, 4)), whole(3, 5)], lambda x, i: aten.index_select(x, 0, i)

    yield "conj", lambda: [real(3, 2), real(3, 2)], lambda x, y: aten.view_as_real(aten.add(
        aten.conj_physical(aten.view_as_complex(x)), aten.view_as_complex(y).conj().clone()))
    yield "all any", lambda: [real(3), real(4)], lambda x, y: aten.where(
        aten.logical_or(aten.all(x > 0, 0, True), aten.any(y > 1, 0, True)), y, -y)

    yield from routing_cases()
    yield from mask_cases()
    yield from complex_cases()

    def attention(q, k, v, g, causal):
        flash = aten._scaled_dot_product_flash_attention_for_cpu
        y, lse = flash(q, k, v, 0.0, causal)
        gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, lse, 0.0, causal)
        return (y, *gradients)
    for causal in (False, True):
        yield (f"attention {causal}", lambda: [real(1, 2, 3, 4) for _ in range(4)],
               lambda q, k, v, g, c=causal: attention(q, k, v, g, c))

    def foreach(x, y, z):
        aten._foreach_mul_([x, y], 0.5)
        aten._foreach_addcmul_([x, y], [y, z], [z, x], 0.25)
        aten._foreach_lerp_([x], [z], 0.1)
        return (*aten._foreach_norm([x, y]), *aten._foreach_sqrt([aten.mul(x, x)]), *aten._foreach_div([x, y], [z, z]))
    yield "foreach", lambda: [real(3, 2), real(3, 2), positive(3, 2)], foreach

    def views(x, y):
        base = aten.empty([4, 6], dtype=torch.float64)
        base[:, 1:3] = x                  # parts that are not contiguous
        base[:, 3:] = y
        base[:, 0] = 1.0
        base.t()[2].mul_(2)
        base.view(-1)[5:9].add_(1)
        base.view(2, 2, 6)[:, 1, ::2].copy_(x.view(4, 2)[:2, :1].expand(2, 3))
        return base.clone(), base.as_strided([3, 4], [2, 5], 1) + 0
    yield "views", lambda: [strided(real(4, 2)), strided(real(4, 3))], views
    yield from sorted_cases()
    yield "flip", lambda: [strided(real(2, 3, 4))], lambda x: (
        aten.flip(x, [number(-1, 1)]), aten.flip(x, [0, 2]), aten.flip(x, []))
    yield "roll", lambda: [strided(real(2, 3, 4)), whole(9, 5)], lambda x, i: (
        aten.roll(x, [number(-9, 9)]), aten.roll(x, [number(-4, 4), number(-4, 4)], [number(0, 1), -1]),
        aten.roll(i, [number(1, 4)], [0]))


def numbers(trace, tensor, stored):
    """The bytes that are stored of a tensor, as doubles; of complex numbers the parts."""
    values = numpy.ascontiguousarray(stored).view(trace["tensors"][tensor][1])
    return (values.view(numpy.float64) if numpy.iscomplexobj(values) else values.astype(numpy.float64)).flatten().tolist()


def main():
    recorded = []
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "case.trace")
        for name, make, function in cases():
            for _ in range(CASES):
                data = {f"x{index}": value for index, value in enumerate(make())}

                def step(data=data):
                    with torch.no_grad():
                        out = function(*data.values())
                    out = out if isinstance(out, (tuple, list)) else (out,)
                    return {f"y{index}": value for index, value in enumerate(out)}
                start = {name: value.clone() for name, value in data.items()}
                record(step, path, inputs=data)
                trace = load(path)
                values = numpy.load(values_path(path))
                recorded.append({
                    "name": name, "trace": trace,
                    "inputs": {key: value.flatten().tolist() for key, value in start.items()},
                    "results": {result["name"]: numbers(trace, result["tensor"], values[f"result_{index}"])
                                for index, result in enumerate(trace["results"])}})
    with gzip.open(sys.argv[1], "wt", encoding="utf-8") as file:
        json.dump(recorded, file, separators=(",", ":"))
    print(len(recorded), "cases", os.path.getsize(sys.argv[1]), "bytes")


if __name__ == "__main__":
    main()
