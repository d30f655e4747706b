#!/usr/bin/env python3
"""Independent reference results for every built-in operator, computed with JAX and NumPy.

    python3 -m venv /tmp/goldens && /tmp/goldens/bin/pip install "jax[cpu]" numpy
    /tmp/goldens/bin/python tests/sdfg/goldens/make_goldens.py

writes tests/sdfg/goldens/operators.json: inputs, attributes, outputs and, from jax.vjp, gradients.
The semantics here come from JAX, not from the declarations. Some inputs tie on purpose (equal
maxima, zeros under relu), so that the tie rules of the derivatives are compared too.
"""
import json
import os
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
CASES = []


class Literal:
    def __init__(self, value):
        self.value = value


def tensor(*shape, low=-2.0, high=2.0):
    """Random tensor of short decimals; the seed depends on the case, so cases stay put."""
    rng = np.random.default_rng(zlib.crc32(f"{len(CASES)} {tensor.count} {shape}".encode()))
    tensor.count += 1
    return np.round(rng.uniform(low, high, shape), 2)


tensor.count = 0


def positive(*shape):
    return tensor(*shape, low=0.3, high=2.0)


def ints(*shape, high):
    return np.floor(tensor(*shape, low=0, high=high - 0.01)).astype(np.int64)


def number(value):
    return float(f"{float(value):.13g}")


def encode(array, dtype=None):
    array = np.asarray(array)
    dtype = dtype or {"i": "int64", "b": "bool"}.get(array.dtype.kind, "float32")
    flat = array.astype(np.float64).reshape(-1)
    return {"shape": list(array.shape), "dtype": dtype, "data": [number(v) for v in flat]}


def encode_attribute(value):
    return {"real": repr(value)} if isinstance(value, float) else value


def case(name, function, *operands, label="", wrt=None, **attributes):
    """Adds a case. `function` gets the tensor operands; wrt: positions of those to differentiate
    (default: all real ones), [] for none."""
    tensors = [o for o in operands if isinstance(o, np.ndarray)]
    as_tuple = lambda *xs: (lambda y: y if isinstance(y, tuple) else (y,))(function(*xs))
    outputs = as_tuple(*[jnp.asarray(t) for t in tensors])
    entry = {"name": name, "label": label,
             "operands": [None if o is None else
                          {"literal": repr(o.value)} if isinstance(o, Literal) else encode(o)
                          for o in operands],
             "attributes": {k: encode_attribute(v) for k, v in attributes.items()},
             "outputs": [encode(o) for o in outputs]}
    if wrt is None:
        wrt = [i for i, t in enumerate(tensors) if t.dtype.kind == "f"]
    real = [i for i, o in enumerate(outputs) if np.asarray(o).dtype.kind == "f"]
    if wrt and real:
        def of_wrt(*xs):
            full = list(tensors)
            for i, x in zip(wrt, xs):
                full[i] = x
            result = as_tuple(*full)
            return tuple(result[i] for i in real)
        primal, pullback = jax.vjp(of_wrt, *[jnp.asarray(tensors[i]) for i in wrt])
        seeds = [tensor(*p.shape) for p in primal]
        gradients = pullback(tuple(jnp.asarray(s) for s in seeds))
        entry["wrt"] = wrt
        entry["differentiated_outputs"] = real
        entry["seeds"] = [encode(s) for s in seeds]
        entry["gradients"] = [encode(g) for g in gradients]
    tensor.count = 0
    CASES.append(entry)


def with_ties(*values):
    return np.array(values, dtype=np.float64)


# --- elementwise ---------------------------------------------------------------------------------
case("add", lambda x, y: x + 0.5 * y, tensor(2, 3, 2), tensor(3, 1), alpha=0.5)
case("add", lambda x: x + 1e-5, tensor(2, 3), Literal(1e-5), label="number", alpha=1)
case("sub", lambda x, y: x - 2 * y, tensor(2, 3), tensor(3), alpha=2)
case("sub", lambda x: 1 - x, Literal(1), tensor(2), label="number first")
case("mul", lambda x, y: x * y, tensor(2, 1, 3), tensor(4, 1))
case("mul", lambda x, y: x * y, tensor(3), np.array([1, 2, 3]), label="with integers")
case("div", lambda x, y: x / y, tensor(2, 3), positive(2, 1), rounding_mode=None)
case("div", lambda x: x / 11.5, tensor(2, 3), Literal(11.5), label="number", rounding_mode=None)
case("neg", lambda x: -x, tensor(3))
case("pow", lambda x: x ** 2, tensor(3), Literal(2))
case("pow", lambda x: x ** -1.5, positive(3), Literal(-1.5), label="fraction")
case("sqrt", jnp.sqrt, positive(3))
case("rsqrt", lax.rsqrt, positive(3))
case("reciprocal", lambda x: 1 / x, positive(3))
case("square", jnp.square, tensor(3))
case("exp", jnp.exp, tensor(3))
case("log", jnp.log, positive(3))
case("sin", jnp.sin, tensor(3))
case("cos", jnp.cos, tensor(3))
case("erf", jax.scipy.special.erf, tensor(3))
case("tanh", jnp.tanh, tensor(3))
case("sigmoid", jax.nn.sigmoid, tensor(3))
case("silu", jax.nn.silu, tensor(2, 3), inplace=False)
case("gelu", lambda x: jax.nn.gelu(x, approximate=False), tensor(4))
case("gelu", lambda x: jax.nn.gelu(x, approximate=True), tensor(4), label="tanh",
     approximate="tanh")
case("relu", jax.nn.relu, with_ties(-1, 0, 0.5), inplace=False)
# PyTorch's derivative at 0 is 0 (JAX has 1 there).
case("abs", lambda x: x * lax.stop_gradient(jnp.sign(x)), with_ties(-1.5, 0, 2))
case("maximum", jnp.maximum, with_ties(1, 2, 3), with_ties(1, 3, 2))
case("minimum", jnp.minimum, with_ties(1, 2, 3), with_ties(1, 3, 2))
bounded = lambda x, low, high: jnp.where(x < low, low, jnp.where(x > high, high, x))
case("clamp", lambda x: bounded(x, -1, 0.5), with_ties(-2, -1, 0, 0.5, 0.6), min=-1.0, max=0.5)
case("clamp", lambda x: bounded(x, -1, jnp.inf), with_ties(-2, -1, 0), label="below", min=-1)
case("clamp", lambda x: bounded(x, -jnp.inf, 0.5), with_ties(0, 0.5, 0.6), label="above", max=0.5)
truth = np.array([[True, False, True], [False, True, True]])
case("where", jnp.where, truth, tensor(2, 3), tensor(3))
case("masked_fill", lambda x, m: jnp.where(m, -1.5, x), tensor(2, 3), truth, value=-1.5)
case("masked_fill", lambda x, m: jnp.where(m, -jnp.inf, x), tensor(2, 3), truth, label="infinity",
     wrt=[], value="-inf")
for name, compare in [("lt", jnp.less), ("le", jnp.less_equal), ("gt", jnp.greater),
                      ("ge", jnp.greater_equal), ("eq", jnp.equal), ("ne", jnp.not_equal)]:
    case(name, compare, with_ties(1, 2, 3), with_ties(1, 3, 2), wrt=[])

reduce_max = lambda x, axis: jnp.max(x, axis=axis)
# --- reductions ----------------------------------------------------------------------------------
for name, reduce in [("sum", jnp.sum), ("mean", jnp.mean), ("max", jnp.max), ("min", jnp.min)]:
    x = tensor(2, 3, 2)
    x[1, 2, 1] = x[0, 1, 0] = x.max() if name == "max" else x.min()
    case(name, lambda x: reduce(x).reshape(1), x, label="all")
    case(name, lambda x: reduce(x, axis=2, keepdims=True), tensor(2, 3, 4), label="kept",
         dim=[2], keepdim=True)
    case(name, lambda x: reduce(x, axis=(0, 2)), tensor(2, 3, 4), label="two", dim=[0, -1])
case("softmax", lambda x: jax.nn.softmax(x, axis=1), tensor(2, 3, 2), dim=1, dtype=None)
case("softmax", lambda x: jax.nn.softmax(x, axis=-1), tensor(2, 3), label="last", dim=-1,
     _stacklevel=3)
case("log_softmax", lambda x: jax.nn.log_softmax(x, axis=0), tensor(3, 2), dim=0)
case("logsumexp", lambda x: jax.scipy.special.logsumexp(x, axis=1, keepdims=True), tensor(2, 3),
     dim=1, keepdim=True)
x = tensor(2, 3, 2)
x[1, 0, 1] = x[1, 1, 0] = x[1, 2, 0] = 3
case("max", lambda x: reduce_max(x, (0, 2)), x, label="two with ties", dim=[0, 2])
case("grad_norm", lambda g: jnp.sum(g * g).reshape(1), tensor(2, 3))

# --- layers --------------------------------------------------------------------------------------
case("linear", lambda x, w: jnp.einsum("abk,nk->abn", x, w), tensor(2, 3, 4), tensor(5, 4),
     bias=None)
case("linear", lambda x, w, b: x @ w.T + b, tensor(3, 4), tensor(2, 4), tensor(2), label="bias")


def layer_norm(x, w=1.0, b=0.0):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


for name in ["layer_norm", "layernorm"]:
    case(name, layer_norm, tensor(2, 2, 4), tensor(4), tensor(4), normalized_shape=[4], eps=1e-5)
case("layer_norm", layer_norm, tensor(3, 4), label="plain", normalized_shape=[4])
rms = lambda x, w=1.0: w * x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)
case("rms_norm", rms, tensor(2, 4), tensor(4), eps=1e-5)
case("rms_norm", rms, tensor(2, 4), label="shape", eps=1e-5, normalized_shape=[4])


def embedding(start):
    def look_up(ids, w):
        inside = (ids >= start) & (ids < start + w.shape[0])
        return jnp.where(inside[..., None], w[jnp.where(inside, ids - start, 0)], 0.0)
    return look_up


case("embedding", embedding(0), ints(2, 3, high=5), tensor(5, 2))
case("embedding", embedding(3), ints(2, 3, high=9), tensor(4, 2), label="part", padding_idx=None,
     start=3, stop=7)
case("feedforward",
     lambda x, p1, b1, p2: jax.nn.gelu(x @ p1.T + b1, approximate=False) @ p2.T,
     tensor(2, 2, 3), tensor(4, 3), tensor(4), tensor(3, 4), dropout=0.2, is_training=True)
case("dropout", lambda x: x, tensor(2, 2), p=0.5, training="self.training", inplace=False)


# --- attention -----------------------------------------------------------------------------------
def self_attention(causal, heads, scale):
    def attend(query, qkv_proj, qkv_bias, out_proj):
        length, batch, _ = query.shape
        qkv = (query @ qkv_proj.T + qkv_bias).reshape(length, batch, heads, -1, 3)
        q, k, v = qkv[..., 0], qkv[..., 1], qkv[..., 2]
        scores = scale * jnp.einsum("lnad,mnad->nalm", q, k)
        if causal:
            scores = jnp.where(np.tri(length, dtype=bool), scores, -jnp.inf)
        out = jnp.einsum("nalm,mnad->lnad", jax.nn.softmax(scores, axis=-1), v)
        return out.reshape(length, batch, -1) @ out_proj.T
    return attend


for causal in [False, True]:
    case("self_attention", self_attention(causal, 2, 0.5), tensor(3, 2, 4), tensor(12, 4),
         tensor(12), tensor(5, 4), label="causal" if causal else "full", mask=causal, h=2,
         scale=0.5, dropout_p=0.2)
mask_of = lambda n: jnp.where(np.tri(n, dtype=bool), 0.0, -jnp.inf)
case("create_mask", lambda t, h: mask_of(3).reshape(1, 1, 3, 3), ints(2, 3, high=4),
     tensor(2, 3, 2), wrt=[])
case("apply_mask", lambda x, m: x + m, tensor(2, 2, 3, 3), tensor(1, 1, 3, 3))
case("causal_mask", lambda x: jnp.where(np.tri(3, dtype=bool), x, -jnp.inf), tensor(2, 3, 3),
     wrt=[])


def rotary_pairs(xq, xk, freqs):
    table = lax.complex(freqs[..., 0], freqs[..., 1])[:, None, :]

    def rotate(x):
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        y = lax.complex(pairs[..., 0], pairs[..., 1]) * table
        return jnp.stack([y.real, y.imag], axis=-1).reshape(x.shape)
    return rotate(xq), rotate(xk)


case("apply_rotary_emb", rotary_pairs, tensor(2, 3, 2, 4), tensor(2, 3, 1, 4), tensor(3, 2, 2))
halves = lambda x: jnp.concatenate([-jnp.split(x, 2, -1)[1], jnp.split(x, 2, -1)[0]], axis=-1)
case("rotate_half", halves, tensor(2, 4))
case("apply_rotary_half", lambda x, c, s: x * c + halves(x) * s, tensor(2, 3, 4), tensor(3, 4),
     tensor(3, 4))

# --- experts -------------------------------------------------------------------------------------


def gate(score, topk, groups, topk_groups, scale):
    def choose(x, w, bias=None):
        logits = x @ w.T
        scores = jax.nn.sigmoid(logits) if score == "sigmoid" else jax.nn.softmax(logits, axis=-1)
        picks = scores if bias is None else scores + bias
        if groups > 1:
            grouped = picks.reshape(picks.shape[0], groups, -1)
            value = grouped.max(-1) if bias is None else lax.top_k(grouped, 2)[0].sum(-1)
            best = lax.top_k(value, topk_groups)[1]
            keep = jnp.any(best[:, :, None] == np.arange(groups), axis=1)
            picks = jnp.where(keep[:, :, None], grouped, -jnp.inf).reshape(picks.shape)
        indices = lax.stop_gradient(lax.top_k(picks, topk)[1])
        weights = jnp.take_along_axis(scores, indices, axis=1)
        if score == "sigmoid":
            weights = weights / weights.sum(-1, keepdims=True)
        return weights * scale, indices
    return choose


case("gate_fw", gate("sigmoid", 2, 4, 2, 2.5), tensor(3, 4), tensor(8, 4), score_func="sigmoid",
     bias=None, n_groups=4, topk_groups=2, topk=2, route_scale=2.5)
case("gate_fw", gate("softmax", 3, 1, 1, 1.0), tensor(3, 4), tensor(5, 4), label="softmax",
     score_func="softmax", bias=None, n_groups=1, topk_groups=1, topk=3, route_scale=1.0)
case("gate_fw", gate("sigmoid", 2, 2, 1, 1.0), tensor(3, 4), tensor(6, 4), tensor(6),
     label="bias", wrt=[0, 1], score_func="sigmoid", n_groups=2, topk_groups=1, topk=2)


def experts(start, end):
    def apply(x, idx, weight, gate_w, up, down):
        y = jnp.zeros_like(x)
        for e in range(start, end):
            g, u, d = gate_w[e - start], up[e - start], down[e - start]
            share = jnp.sum(jnp.where(idx == e, weight, 0.0), axis=1)
            y = y + share[:, None] * ((jax.nn.silu(x @ g.T) * (x @ u.T)) @ d.T)
        return y
    return apply


chosen = np.array([[0, 2], [3, 1], [1, 0]])
case("nnscaler_moe_gmm", experts(0, 4), tensor(3, 2), chosen, tensor(3, 2), tensor(4, 3, 2),
     tensor(4, 3, 2), tensor(4, 2, 3), n_routed_experts=4, local_expert_start=0,
     local_expert_end=4)
case("nnscaler_moe_gmm", experts(2, 4), tensor(3, 2), chosen, tensor(3, 2), tensor(2, 3, 2),
     tensor(2, 3, 2), tensor(2, 2, 3), label="part", n_routed_experts=4, local_expert_start=2,
     local_expert_end=4)

# --- losses --------------------------------------------------------------------------------------


def cross_entropy(reduction, ignored):
    def loss(logits, target):
        logp = jax.nn.log_softmax(logits, axis=-1)
        keep = target != ignored
        picked = jnp.take_along_axis(logp, jnp.where(keep, target, 0)[:, None], axis=1)[:, 0]
        each = jnp.where(keep, -picked, 0.0)
        if reduction == "none":
            return each
        return (each.sum() / (keep.sum() if reduction == "mean" else 1)).reshape(1)
    return loss


target = np.array([0, 3, -100, 2])
for reduction in ["mean", "sum", "none"]:
    case("cross_entropy", cross_entropy(reduction, -100), tensor(4, 4), target, label=reduction,
         reduction=reduction)
case("cross_entropy", cross_entropy("mean", 3), tensor(4, 4), np.array([0, 3, 1, 2]),
     label="ignore", ignore_index=3)
case("vocab_parallel_max", lambda x: x.max(-1), tensor(2, 3), wrt=[])
case("vocab_parallel_sum_exp", lambda x, m: jnp.exp(x - m[:, None]).sum(-1), tensor(2, 3),
     tensor(2))
inside = lambda x, m, t: jnp.sum(jnp.where(t[:, None] - 2 == np.arange(3), x - m[:, None], 0.0), -1)
case("vocab_parallel_target_logit", inside, tensor(4, 3), tensor(4), np.array([1, 2, 4, 5]),
     start=2)
case("vocab_parallel_loss", lambda s, l: jnp.log(s) - l, positive(3), tensor(3))
for reduction, reduce in [("mean", lambda d: d.mean().reshape(1)),
                          ("sum", lambda d: d.sum().reshape(1)), ("none", lambda d: d)]:
    case("mse_loss", lambda x, y: reduce((x - y) ** 2), tensor(2, 3), tensor(2, 3),
         label=reduction, reduction=reduction)

# --- optimizers ----------------------------------------------------------------------------------


def adam(decoupled, lr, b1, b2, eps, decay, step):
    def update(p, g, m, v):
        if not decoupled:
            g = g + decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        denominator = jnp.sqrt(v) / np.sqrt(1 - b2 ** step) + eps
        q = p * (1 - lr * decay) if decoupled else p
        return q - lr / (1 - b1 ** step) * m / denominator, m, v
    return update


case("adamw", adam(True, 0.01, 0.9, 0.99, 1e-3, 0.1, 3), tensor(4), tensor(4), tensor(4),
     positive(4), lr=0.01, beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1, step=3)
case("adam", adam(False, 0.01, 0.9, 0.99, 1e-3, 0.1, 100), tensor(4), tensor(4), tensor(4),
     positive(4), lr=0.01, beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1, step=100)
case("sgd", lambda p, g: p - 0.1 * (g + 0.5 * p), tensor(3), tensor(3), lr=0.1, weight_decay=0.5)


def momentum(nesterov):
    def update(p, g, b):
        b = 0.9 * b + 0.75 * g
        return p - 0.1 * (g + 0.9 * b if nesterov else b), b
    return update


for nesterov in [False, True]:
    case("sgd", momentum(nesterov), tensor(3), tensor(3), tensor(3),
         label="nesterov" if nesterov else "momentum", lr=0.1, momentum=0.9, dampening=0.25,
         nesterov=nesterov)

# --- movement ------------------------------------------------------------------------------------
for name in ["identity", "contiguous", "clone", "float", "double", "half", "bfloat16"]:
    case(name, lambda x: x, tensor(2, 2))
case("float", lambda x: x.astype(np.float64), ints(3, high=9), label="integers")
case("long", lambda x: x, ints(2, high=9))
case("to", lambda x: x, tensor(2, 2), dtype_or_device="<class 'torch.float32'>")
case("type_as", lambda x, y: x, tensor(2, 2), tensor(3), wrt=[0])
case("detach", lax.stop_gradient, tensor(2, 2))
case("multiref", lambda x: (x, x, x), tensor(2, 2), times=3)
case("identity", lambda x: x, ints(3, high=5), label="integers")
case("transpose", lambda x: jnp.swapaxes(x, 0, 2), tensor(2, 3, 4), dim0=0, dim1=-1)
case("t", jnp.transpose, tensor(2, 3))
case("permute", lambda x: jnp.transpose(x, (2, 0, 1)), tensor(2, 3, 4), dims=[2, 0, 1])
for into in [[2, 2, 6], [4, 6], [8, 3], [24], [2, 12], [2, 2, 2, 3]]:
    case("view", lambda x: x.reshape(into), tensor(4, 6), label=str(into), size=into)
case("view", lambda x: x.reshape(3, 8), tensor(4, 6), label="no common digits", size=[3, 8])
case("view", lambda x: x.reshape(2, 3, 10), tensor(2, 3, 2, 5), label="merge", size=[2, 3, -1])
case("view", lambda x: x.reshape(6, 1, 2), tensor(1, 3, 2, 2, 1), label="ones", size=[-1, 1, 2])
case("view", lambda x: x.reshape(()), tensor(1), label="scalar", size=[])
case("reshape", lambda x: x.reshape(3, 4), tensor(2, 6), shape=[3, 4])
case("flatten", lambda x: x.reshape(2, 12, 2), tensor(2, 3, 4, 2), start_dim=1, end_dim=2)
case("squeeze", lambda x: x.reshape(2, 3), tensor(2, 1, 3, 1))
case("squeeze", lambda x: x.reshape(2, 3, 1), tensor(2, 1, 3, 1), label="one", dim=1)
case("unsqueeze", lambda x: x[:, None], tensor(2, 3), dim=1)
case("unsqueeze", lambda x: x[..., None], tensor(2, 3), label="last", dim=-1)
case("expand", lambda x: jnp.broadcast_to(x, (4, 2, 3)), tensor(1, 3), size=[4, 2, -1])
case("repeat", lambda x: jnp.tile(x, (2, 1, 3)), tensor(2, 2), repeats=[2, 1, 3])
case("repeat_interleave", lambda x: jnp.repeat(x, 2, axis=1), tensor(2, 3), repeats=2, dim=1)
case("slice", lambda x: x[:, 1:-1:2], tensor(2, 6), dim=1, start=1, stop=-1, step=2)
case("slice", lambda x: x[-2:], tensor(5), label="end", start=-2)
case("narrow", lambda x: x[:, 1:3], tensor(2, 4), dim=1, start=1, length=2)
case("select", lambda x: x[:, -1], tensor(2, 4, 2), dim=1, index=-1)
case("flip", lambda x: x[::-1, ::-1], tensor(2, 3), dims=[0, 1])
case("chunk", lambda x: (x[:, :3], x[:, 3:6], x[:, 6:]), tensor(2, 7), chunks=3, dim=1)
case("split", lambda x: (x[:2], x[2:4], x[4:]), tensor(5), split_size_or_sections=2)
case("split", lambda x: (x[:1], x[1:]), tensor(5), label="sections",
     split_size_or_sections=[1, 4])
for name in ["concat", "cat"]:
    case(name, lambda *xs: jnp.concatenate(xs, axis=1), tensor(2, 2), tensor(2, 1), tensor(2, 3),
         dim=-1)
case("stack", lambda *xs: jnp.stack(xs, axis=1), tensor(2, 3), tensor(2, 3), dim=1)
case("pad", lambda x: jnp.pad(x, ((0, 1), (2, 1)), constant_values=0.5), tensor(2, 3),
     pad=[2, 1, 0, 1], value=0.5)
case("pad", lambda x: x[1:], tensor(4), label="crop", pad=[-1, 0])

# --- contractions --------------------------------------------------------------------------------
case("matmul", jnp.matmul, tensor(2, 3), tensor(3, 4))
case("matmul", jnp.matmul, tensor(2, 1, 2, 3), tensor(3, 3, 2), label="batch")
case("matmul", jnp.matmul, tensor(3), tensor(2, 3, 2), label="vector left")
case("matmul", jnp.matmul, tensor(2, 2, 3), tensor(3), label="vector right")
case("matmul", jnp.matmul, tensor(3), tensor(3), label="vectors")
case("bmm", jnp.matmul, tensor(2, 2, 3), tensor(2, 3, 2))
case("einsum", lambda a, b: jnp.einsum("bij,kj->bki", a, b), tensor(2, 3, 2), tensor(4, 2),
     equation="bij,kj->bki")
case("einsum", lambda a, b: jnp.einsum("ij,jk", a, b), tensor(2, 3), tensor(3, 2),
     label="implicit", equation="ij, jk")
case("einsum", lambda a: jnp.einsum("ii->i", a), tensor(3, 3), label="diagonal",
     equation="ii->i")

# --- added later: the order of cases decides their random numbers ----------------------------------


def visible(start, queries, keys):
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + start


def row_max(start):
    def apply(scores, before=-jnp.inf):
        seen = jnp.where(visible(start, *scores.shape[-2:]), scores, -jnp.inf)
        return lax.stop_gradient(jnp.maximum(before, seen.max(-1)))
    return apply


def block_weights(start):
    def apply(scores, maximum):
        seen = visible(start, *scores.shape[-2:])
        return jnp.where(seen, jnp.exp(jnp.where(seen, scores - maximum[..., None], 0.0)), 0.0)
    return apply


case("causal_mask", lambda x: jnp.where(visible(1, 2, 4), x, -jnp.inf), tensor(2, 2, 4),
     label="start", wrt=[], start=1)
case("online_max_first", row_max(0), tensor(2, 3, 3), wrt=[], start=0)
case("online_max", row_max(2), tensor(2, 2, 4), tensor(2, 2), wrt=[], start=2)
case("online_max", row_max(-1), tensor(3, 2), tensor(3), label="hidden row", wrt=[], start=-1)
case("online_weights", block_weights(1), tensor(2, 2, 4), tensor(2, 2), start=1)

routed = np.array([[[0, 2], [3, 1]], [[1, 0], [2, 3]]])
case("dispatch_tokens",
     lambda x, idx: jnp.einsum("bsae,bsk->besak", jax.nn.one_hot(idx, 4), x),
     tensor(2, 2, 3), routed, n_routed_experts=4)
case("combine_tokens",
     lambda y, idx, w: jnp.einsum("bsae,bsa,besah->bsh", jax.nn.one_hot(idx, 4), w, y),
     tensor(2, 4, 2, 2, 3), routed, tensor(2, 2, 2))

# --- integers ------------------------------------------------------------------------------------
ids = np.array([[3, 0, 2], [5, 1, 4]])
more = np.array([[1, 0, 7], [2, 6, 4]])
case("add", lambda x, y: x + 3 * y, ids, more, label="integers", alpha=3)
case("sub", lambda x, y: x - y, ids, more, label="integers")
case("mul", lambda x, y: x * y, ids, more, label="integers")
case("mul", lambda x: x * 4, ids, Literal(4), label="integers and a number")
case("div", lambda x, y: x / y, ids, more + 1, label="integers", rounding_mode=None)
case("neg", lambda x: -x, ids, label="integers")
case("abs", jnp.abs, ids - 3, label="integers")
case("pow", lambda x: x ** 3, ids, Literal(3), label="integers")
case("square", jnp.square, ids, label="integers")
case("relu", lambda x: jnp.maximum(x, 0), ids - 3, label="integers")
case("maximum", jnp.maximum, ids, more, label="integers")
case("minimum", jnp.minimum, ids, more, label="integers")
case("clamp", lambda x: jnp.clip(x, 1, 4), ids, label="integers", min=1, max=4)
case("where", lambda c, x, y: jnp.where(c, x, y), ids > 2, ids, more, label="integers")
case("masked_fill", lambda x, m: jnp.where(m, 9, x), ids, ids > 2, label="integers", value=9)
case("sum", lambda x: jnp.sum(x).reshape(1), ids, label="integers")
case("sum", lambda x: jnp.sum(x, 1), ids, label="integers, one", dim=1)
case("sum", lambda x: jnp.sum(x, 0), ids > 2, label="truth values", dim=0)
case("max", lambda x: jnp.max(x, 1), ids, label="integers", dim=1)
case("min", lambda x: jnp.min(x, 0), ids, label="integers", dim=0)
case("concat", lambda x, y: jnp.concatenate([x, y], 1), ids, more, label="integers", dim=1)


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators.json")
    text = ",\n".join(json.dumps(c, separators=(",", ":")).replace("-Infinity", '"-inf"')
                      for c in CASES)
    assert "NaN" not in text and "Infinity" not in text
    with open(path, "w", encoding="utf-8") as out:
        out.write("[\n" + text + "\n]\n")
    print(f"{len(CASES)} cases of {len({c['name'] for c in CASES})} operators, {len(text)} bytes")


if __name__ == "__main__":
    main()
