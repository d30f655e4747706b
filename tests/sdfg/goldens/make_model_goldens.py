#!/usr/bin/env python3
"""Reference results for convolutions, poolings, normalizations, gathers, scatters, orders and ranges,
computed with PyTorch and JAX.

    python3 -m venv /tmp/goldens && /tmp/goldens/bin/pip install torch "jax[cpu]" numpy
    /tmp/goldens/bin/python tests/sdfg/goldens/make_model_goldens.py

writes tests/sdfg/goldens/models.json: inputs, attributes, outputs and gradients by autograd.

    make_model_goldens.py --random 2000 --seed 1 --out /tmp/more.json

writes calls with random shapes and options instead, for

    PLANPROOF_MORE_GOLDENS=/tmp/more.json build/tests/sdfg/sdfg_tests --gtest_filter='OperatorGoldens.*'
"""
import argparse
import json
import os

import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F
from jax import lax
from reference_calls import (CASES, RNG, Number, by_jax, case, encode, integers, numbers, pick, real, tied)


# --- convolutions --------------------------------------------------------------------------------
def conv(x, w, bias=None, **options):
    space = w.ndim - 2
    operation = getattr(F, f"conv{space}d")
    case(f"conv{space}d", lambda *t: operation(*t, **options), x, w,
         *([] if bias is None else [bias]), **options)


def conv_transpose(x, w, bias=None, **options):
    space = w.ndim - 2
    operation = getattr(F, f"conv_transpose{space}d")
    case(f"conv_transpose{space}d", lambda *t: operation(*t, **options), x, w,
         *([] if bias is None else [bias]), **options)


def random_conv():
    space = pick(1, 1, 2, 2, 3)
    size = {1: 9, 2: 6, 3: 4}[space]
    groups, cg, og = pick((1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 1, 2), (3, 1, 1))
    batch = pick([], [1], [2])
    x = real(*batch, groups * cg, *RNG.integers(1, size, space))
    bias = pick(None, real(groups * og))
    window = RNG.integers(1, 4, space)
    transposed = pick(True, False)
    if transposed:
        conv_transpose(x, real(groups * cg, og, *window), bias, stride=numbers(space, 1, 4),
                       padding=numbers(space, 0, 3), output_padding=numbers(space, 0, 2),
                       groups=groups, dilation=numbers(space, 1, 3))
        return
    options = {"stride": numbers(space, 1, 4), "padding": numbers(space, 0, 3)}
    if pick(True, False, False):
        options = {"padding": pick("same", "valid")}
    conv(x, real(groups * og, cg, *window), bias, dilation=numbers(space, 1, 3), groups=groups,
         **options)


def conv_general(x, w, lhs_spec=None, rhs_spec=None, out_spec=None, padding="VALID",
                 window_strides=None, **options):
    space = x.ndim - 2
    order = tuple(range(x.ndim))
    numbers_ = lax.ConvDimensionNumbers(*(tuple(s or order) for s in (lhs_spec, rhs_spec, out_spec)))
    pairs = padding if isinstance(padding, str) else list(zip(padding[::2], padding[1::2]))
    function = lambda x, w: lax.conv_general_dilated(
        x, w, tuple(window_strides or [1] * space), pairs, dimension_numbers=numbers_, **options)
    case("conv_general_dilated", function, x, w, by=by_jax, window_strides=window_strides,
         padding=padding, lhs_spec=lhs_spec, rhs_spec=rhs_spec, out_spec=out_spec, **options)


def random_conv_general():
    space = pick(1, 2)
    groups, cg, og = pick((1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 1, 2))
    specs = [[int(d) for d in RNG.permutation(space + 2)] for _ in range(3)]
    x_shape, w_shape = np.zeros(space + 2, int), np.zeros(space + 2, int)
    x_shape[specs[0]] = [pick(1, 2), groups * cg, *RNG.integers(2, 6, space)]
    w_shape[specs[1]] = [groups * og, cg, *RNG.integers(1, 4, space)]
    each = lambda low, high: [int(v) for v in RNG.integers(low, high, space)]
    padding = pick("SAME", "VALID", [int(v) for v in RNG.integers(-1, 4, 2 * space)])
    lhs = [1] * space if isinstance(padding, str) else each(1, 4)
    conv_general(real(*x_shape), real(*w_shape), *specs, padding=padding,
                 window_strides=each(1, 4), lhs_dilation=lhs, rhs_dilation=each(1, 3),
                 feature_group_count=groups)


# --- poolings ------------------------------------------------------------------------------------
def pool(name, x, **options):
    operation = getattr(F, name)
    case(name, lambda x: operation(x, **options), x, **options)


def random_pool():
    space = pick(1, 1, 2, 2, 3)
    x = pick(real, tied)(*pick([1], [2], [2, 2]), *RNG.integers(1, {1: 11, 2: 7, 3: 5}[space], space))
    if x.ndim == space:
        x = x[None]
    kind = pick("max", "avg", "adaptive_avg", "adaptive_max")
    if kind.startswith("adaptive"):
        pool(f"{kind}_pool{space}d", x, output_size=numbers(space, 1, 5))
        return
    options = {"kernel_size": numbers(space, 1, 5), "stride": pick(None, numbers(space, 1, 4)),
               "padding": numbers(space, 0, 3), "ceil_mode": pick(True, False)}
    if kind == "max":
        options["dilation"] = numbers(space, 1, 3)
    else:
        options["count_include_pad"] = pick(True, False)
        if space > 1 and pick(True, False, False):
            options["divisor_override"] = int(RNG.integers(1, 9))
    pool(f"{kind}_pool{space}d", x, **options)


def reduce_window(kind, x, window_dimensions, padding="VALID", window_strides=None, **options):
    start, operation = {"sum": (0.0, lax.add), "max": (-np.inf, lax.max),
                        "min": (np.inf, lax.min)}[kind]
    pairs = padding if isinstance(padding, str) else tuple(zip(padding[::2], padding[1::2]))
    function = lambda x: lax.reduce_window(x, start, operation, tuple(window_dimensions),
                                           tuple(window_strides or [1] * x.ndim), pairs, **options)
    dilated = any(v != 1 for k in ("base_dilation", "window_dilation") for v in options.get(k, [1]))
    case(f"reduce_window_{kind}", function, x, by=by_jax, wrt=[] if dilated else None,
         window_dimensions=window_dimensions, padding=padding, window_strides=window_strides,
         **options)


def random_reduce_window():
    rank = pick(1, 2, 3)
    each = lambda low, high: [int(v) for v in RNG.integers(low, high, rank)]
    padding = pick("SAME", "VALID", [int(v) for v in RNG.integers(0, 3, 2 * rank)])
    options = {"window_dilation": each(1, 3)}
    if not isinstance(padding, str):
        options["base_dilation"] = each(1, 3)
    if pick(True, False):
        options = {}
    reduce_window(pick("sum", "max", "min"), pick(real, tied)(*each(1, 6)), each(1, 4),
                  padding=padding, window_strides=each(1, 3), **options)


# --- normalizations ------------------------------------------------------------------------------
def random_norm():
    space = [int(v) for v in RNG.integers(1, 4, pick(0, 1, 2))]
    channels = pick(2, 4)
    eps = pick(1e-5, 0.1)
    x, weight, bias = real(3, channels, *space), real(channels), real(channels)
    mean, var = real(channels), real(channels, low=0.3)
    kind = pick("batch", "batch", "eval", "instance", "group", "update")
    if kind == "batch":
        function = lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, eps=eps)
        case("batch_norm", function, x, None, None, weight, bias, training=True, eps=eps)
    elif kind == "eval":
        function = lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, training=False, eps=eps)
        case("batch_norm", function, x, mean, var, weight, bias, wrt=[0, 3, 4], eps=eps)
    elif kind == "instance" and np.prod(space) > 1:
        function = lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=eps)
        case("instance_norm", function, x, None, None, weight, bias, eps=eps)
    elif kind == "update":
        def update(x, m, v):
            m, v = m.clone(), v.clone()
            F.batch_norm(x, m, v, training=True, momentum=0.25)
            return m, v
        case("batch_norm_update", update, x, mean, var, wrt=[], momentum=0.25)
    else:
        groups = pick(1, 2, channels)
        if np.prod(x.shape[1:]) == groups:
            return
        function = lambda x, w, b: F.group_norm(x, groups, w, b, eps=eps)
        case("group_norm", function, x, weight, bias, num_groups=groups, eps=eps)


# --- gathers and scatters ------------------------------------------------------------------------
def random_gather():
    shape = [int(v) for v in RNG.integers(1, 5, pick(1, 2, 3))]
    rank, dim = len(shape), int(RNG.integers(len(shape)))
    x = pick(real(*shape), real(*shape), integers(*shape, low=-5, high=9))
    extent, named = shape[dim], pick(dim, dim - rank)
    kind = pick("gather", "index_select", "take", "along")
    if kind == "gather":
        of = [int(RNG.integers(1, s + 1)) for s in shape]
        of[dim] = int(RNG.integers(1, 6))
        case("gather", lambda x, i: torch.gather(x, dim, i), x, integers(*of, high=extent),
             dim=named)
        return
    if kind == "index_select":
        case("index_select", lambda x, i: torch.index_select(x, dim, i), x,
             integers(4, high=extent), dim=named)
        return
    mode = pick("fill", "clip", "wrap" if kind == "take" else "promise_in_bounds")
    wild = {"low": -extent - 3, "high": extent + 4}
    if mode == "promise_in_bounds":
        wild = {"high": extent}
    fill = {"fill_value": pick(0.0, 1.5) if x.dtype.kind == "f" else pick(0, 7)}
    if mode != "fill":
        fill = {}
    elif pick(True, False):
        fill, wild = {}, {"low": -extent, "high": extent}
    if kind == "take":
        index = integers(*RNG.integers(1, 4, pick(0, 1, 2)), **wild)
        function = lambda x, i: jnp.take(x, i, axis=dim, mode=mode, **fill)
        case("take", function, x, np.asarray(index), by=by_jax, axis=named, mode=mode, **fill)
        return
    of = [pick(s, s, 1) for s in shape]
    of[dim] = int(RNG.integers(1, 6))
    options = {} if mode != "clip" else {"wrap_negative_indices": pick(True, False)}
    function = lambda x, i: jnp.take_along_axis(x, i, axis=dim, mode=mode, **fill, **options)
    case("take_along_axis", function, x, integers(*of, **wild), by=by_jax, axis=named, mode=mode,
         **fill, **options)


def random_scatter():
    shape = [int(v) for v in RNG.integers(1, 5, pick(1, 2, 3))]
    rank, dim = len(shape), int(RNG.integers(len(shape)))
    whole = pick(False, False, True)
    make = pick(real, real, lambda *s: integers(*s, low=-5, high=9))
    x, extent, named = make(*shape), shape[dim], pick(dim, dim - rank)
    entries = int(RNG.integers(1, 6))
    of = [entries if d == dim else s for d, s in enumerate(shape)]
    kind = pick("scatter_add", "scatter", "scatter number", "index_add", "index_copy", "mode")
    if kind == "scatter_add":
        more = [s + int(RNG.integers(2)) if d == dim else s for d, s in enumerate(of)]
        case(kind, lambda x, i, s: x.scatter_add(dim, i, s), x, integers(*of, high=extent),
             make(*more), dim=named)
    elif kind == "index_add":
        alpha = pick(1, 2)
        case(kind, lambda x, i, s: torch.index_add(x, dim, i, s, alpha=alpha), x,
             integers(entries, high=extent), make(*of), dim=named, alpha=alpha)
    elif kind == "scatter number":
        case("scatter", lambda x, i: x.scatter(dim, i, 3), x, integers(*of, high=extent), Number(3),
             dim=named)
    elif kind == "mode":
        mode = pick("clip", "drop", "fill")
        index = np.asarray(integers(entries, low=0 if mode == "clip" else extent - 1, high=extent + 4))
        at = lambda i: (slice(None),) * dim + (i,)
        function = lambda x, i, s: x.at[at(i)].add(s, mode=mode)
        case("index_add", function, x, index, make(*of), by=by_jax, dim=named, mode=mode)
        if mode == "clip":
            return
        index = extent - 2 + RNG.permutation(entries + 2)[:entries]
        index = index[index >= 0]
        if not len(index):
            return
        of[dim] = len(index)
        function = lambda x, i, s: x.at[at(i)].set(s, mode=mode)
        case("index_copy", function, x, index, make(*of), by=by_jax, dim=named, mode=mode)
    else:
        entries = int(RNG.integers(1, extent + 1))
        of[dim] = entries
        if kind == "index_copy":
            case(kind, lambda x, i, s: torch.index_copy(x, dim, i, s), x,
                 RNG.permutation(extent)[:entries], make(*of), dim=named)
            return
        order = np.argsort(RNG.random(shape), axis=dim)
        index = np.take(order, np.arange(entries), axis=dim)
        case(kind, lambda x, i, s: x.scatter(dim, i, s), x, index, make(*of), dim=named)


# --- orders, ranges, sums ------------------------------------------------------------------------
def random_order():
    shape = [int(v) for v in RNG.integers(1, 6, pick(1, 2, 3))]
    dim = int(RNG.integers(-len(shape), len(shape)))
    count = int(RNG.integers(1, shape[dim] + 1))
    distinct = RNG.permutation(int(np.prod(shape))).reshape(shape) - 5
    x = pick(distinct, distinct * 0.37, distinct * 0.37)
    largest = pick(True, False)
    kind = pick("topk", "top_k", "sort", "argsort", "argmax", "argmin", "cumsum")
    if kind == "topk":
        case(kind, lambda x: tuple(torch.topk(x, count, dim, largest)), x, k=count, dim=dim,
             largest=largest)
    elif kind == "top_k":
        def top_k(x):
            values, indices = lax.top_k(jnp.moveaxis(x, dim, -1), count)
            return jnp.moveaxis(values, -1, dim), jnp.moveaxis(indices, -1, dim)
        case(kind, top_k, pick(x, tied(*shape)), by=by_jax, k=count, dim=dim)
    elif kind == "sort":
        case(kind, lambda x: tuple(torch.sort(x, dim=dim, descending=largest, stable=True)),
             pick(x, tied(*shape)), dim=dim, descending=largest, stable=True)
    elif kind == "argsort":
        case(kind, lambda x: torch.argsort(x, dim=dim, descending=largest), x, wrt=[], dim=dim,
             descending=largest)
    elif kind == "cumsum":
        case(kind, lambda x: torch.cumsum(x, dim), x, dim=dim)
    else:
        keep = pick(True, False)
        case(kind, lambda x: getattr(torch, kind)(x, dim, keep), pick(x, tied(*shape)), wrt=[],
             dim=dim, keepdim=keep)


def random_range():
    shape = [int(v) for v in RNG.integers(1, 6, pick(1, 2, 3))]
    x = pick(real(*shape), integers(*shape, low=-5, high=9))
    sizes = [int(RNG.integers(1, s + 1)) for s in shape]
    kind = pick("strided_slice", "dynamic_slice", "dynamic_update_slice")
    if kind == "strided_slice":
        start = [int(RNG.integers(0, s - n + 1)) for s, n in zip(shape, sizes)]
        limit = [a + n for a, n in zip(start, sizes)]
        strides = pick(None, [int(v) for v in RNG.integers(1, 4, len(shape))])
        case(kind, lambda x: lax.slice(x, start, limit, strides), x, by=by_jax,
             start_indices=start, limit_indices=limit, strides=strides)
        return
    starts = [np.asarray(RNG.integers(-s - 2, s + 3)) for s in shape]
    negative = pick(True, False)
    options = {} if negative else {"allow_negative_indices": False}
    if kind == "dynamic_slice":
        function = lambda x, *i: lax.dynamic_slice(x, i, sizes, **options)
        case(kind, function, x, *starts, by=by_jax, slice_sizes=sizes, **options)
        return
    update = real(*sizes) if x.dtype.kind == "f" else integers(*sizes, high=9)
    function = lambda x, u, *i: lax.dynamic_update_slice(x, u, i, **options)
    case(kind, function, x, update, *starts, by=by_jax, **options)


def random_mask():
    shape = [int(v) for v in RNG.integers(1, 6, pick(3, 4))]
    start = int(RNG.integers(-2, 3))
    *_, heads, queries, keys = shape
    place = np.arange(queries)[:, None] + start
    key = np.arange(keys)[None, :]
    x, slopes = real(*shape), real(heads, low=0.1)
    symmetric = pick(True, False)
    distance = -np.abs(key - place) if symmetric else key - place
    case("alibi", lambda x, s: x + s[:, None, None] * torch.tensor(distance), x, slopes,
         start=start, symmetric=symmetric)


def random_conversion():
    x = pick(real(3), tied(4), integers(3, low=-2, high=3))
    case("bool", lambda x: x.to(torch.bool), x, wrt=[])
    case("int", lambda x: x.to(torch.int64), np.abs(integers(3, low=-2, high=3)), wrt=[])
    case("int", lambda x: x.to(torch.int64), real(4), wrt=[], label="truncated")


def committed():
    """One or a few calls of every operator, with every option."""
    conv(real(2, 3, 5, 4), real(2, 3, 3, 2), real(2), stride=[2, 1], padding=[1, 0], dilation=1, groups=1)
    conv(real(4, 5), real(6, 2, 2), stride=1, padding="same", dilation=2, groups=2)
    conv(real(1, 2, 4, 4), real(4, 1, 3, 3), padding="valid", groups=2)
    conv(real(1, 2, 3, 3, 4), real(1, 2, 2, 2, 2), real(1), stride=2, padding=1)
    conv_transpose(real(2, 2, 4), real(2, 2, 3), real(2), stride=2, padding=1, output_padding=1)
    conv_transpose(real(1, 4, 3, 2), real(4, 1, 2, 3), stride=[1, 3], dilation=2, groups=2)
    conv_transpose(real(1, 2, 2, 2), real(1, 2, 1, 2, 2), stride=2)
    conv_general(real(1, 5, 4, 2), real(3, 2, 2, 3), [0, 3, 1, 2], [3, 2, 0, 1], [0, 3, 1, 2],
                 padding=[1, 2, -1, 3], window_strides=[2, 1], lhs_dilation=[1, 2],
                 rhs_dilation=[2, 1])
    conv_general(real(1, 2, 6), real(4, 1, 3), padding="SAME", window_strides=[2],
                 feature_group_count=2)
    pool("max_pool1d", tied(2, 9), kernel_size=3, stride=2, padding=1, dilation=2, ceil_mode=True)
    pool("max_pool2d", real(1, 2, 5, 4), kernel_size=[3, 2], stride=[2, 1], padding=[1, 0])
    pool("max_pool2d", tied(2, 4, 4), kernel_size=2, stride=None, ceil_mode=True)
    pool("max_pool3d", real(1, 3, 3, 3), kernel_size=2, stride=1)
    pool("avg_pool1d", real(2, 8), kernel_size=3, stride=2, padding=1, ceil_mode=True)
    pool("avg_pool2d", real(1, 2, 5, 5), kernel_size=3, stride=2, padding=1, count_include_pad=False)
    pool("avg_pool2d", real(1, 5, 4), kernel_size=[2, 3], divisor_override=5)
    pool("avg_pool3d", real(1, 3, 3, 2), kernel_size=2, stride=1, padding=1, count_include_pad=True)
    for space in (1, 2, 3):
        pool(f"adaptive_avg_pool{space}d", real(1, 2, *([4, 3, 2][:space])), output_size=2)
        pool(f"adaptive_max_pool{space}d", tied(2, *([5, 4, 2][:space])), output_size=[3, 2, 1][:space])
    for kind in ("sum", "max", "min"):
        reduce_window(kind, tied(5, 4), [2, 3], padding=[1, 0, 1, 1], window_strides=[2, 1])
        reduce_window(kind, real(5), [3], padding=[1, 2], base_dilation=[2], window_dilation=[1])
    reduce_window("sum", real(5, 3), [3, 2], padding="SAME", window_strides=[2, 2])
    case("cumsum", lambda x: torch.cumsum(x, 1), integers(2, 3, high=5), dim=-1, label="integers")
    case("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), real(4, 2), training=True)
    case("sort", lambda x: tuple(torch.sort(x)), np.array([3, 1, 2]), label="integers")
    CASES.append({"name": "sliding_window_mask", "label": "", "operands": [encode(np.ones((2, 3)))],
                  "attributes": {"left": 0, "right": 1, "start": 0},
                  "outputs": [{"shape": [2, 3], "dtype": "float32",
                               "data": [1.0, 1.0, "-inf", "-inf", 1.0, 1.0]}]})
    CASES.append({"name": "sliding_window_mask", "label": "start", "operands": [encode(np.ones((2, 4)))],
                  "attributes": {"left": 1, "start": 2},
                  "outputs": [{"shape": [2, 4], "dtype": "float32",
                               "data": ["-inf", 1.0, 1.0, "-inf", "-inf", "-inf", 1.0, 1.0]}]})


RANDOM = [random_conv, random_conv, random_conv_general, random_pool, random_pool,
          random_reduce_window, random_norm, random_gather, random_scatter, random_order,
          random_range, random_mask, random_conversion]


def add_random(makers, count):
    """`count` calls; options that the framework refuses are tried again."""
    target, refused = len(CASES) + count, 0
    while len(CASES) < target:
        try:
            pick(*makers)()
        except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError):
            refused += 1
            assert refused < 20 * count + 100
    return refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                      "models.json"))
    options = parser.parse_args()
    refused = 0
    if options.random:
        RNG.bit_generator.state = np.random.PCG64(options.seed).state
        refused = add_random(RANDOM, options.random)
    else:
        committed()
        for makers, count in (([random_norm], 14), ([random_gather], 24), ([random_scatter], 30),
                              ([random_order], 24), ([random_range], 12), ([random_mask], 3),
                              ([random_conversion], 3)):
            add_random(makers, count)
    text = ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES)
    assert "NaN" not in text and "Infinity" not in text
    with open(options.out, "w", encoding="utf-8") as out:
        out.write("[\n" + text + "\n]\n")
    print(f"{len(CASES)} cases of {len({c['name'] for c in CASES})} operators, {len(text)} bytes, "
          f"{refused} calls refused by the framework")


if __name__ == "__main__":
    main()
