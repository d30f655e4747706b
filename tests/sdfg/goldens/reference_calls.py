"""Calls of a framework, written down with their results and gradients: what make_model_goldens.py is made of."""
import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import torch

jax.config.update("jax_enable_x64", True)
warnings.filterwarnings("ignore")
CASES = []
RNG = np.random.Generator(np.random.PCG64(13))
TYPES = {"i": "int64", "b": "bool"}


def real(*shape, low=-2.0, high=2.0):
    return np.round(RNG.uniform(low, high, shape), 2)


def tied(*shape):
    """Few different values, so that maxima tie."""
    return RNG.integers(-1, 2, shape).astype(np.float64)


def integers(*shape, low=0, high):
    return RNG.integers(low, high, shape)


def encode(array, dtype=None):
    array = np.asarray(array)
    dtype = dtype or TYPES.get(array.dtype.kind, "float32")
    flat = array.astype(np.float64).reshape(-1)
    return {"shape": list(array.shape), "dtype": dtype, "data": [float(f"{v:.13g}") for v in flat]}


class Number:
    def __init__(self, value):
        self.value = value


def operand(value):
    if value is None:
        return None
    return {"literal": repr(value.value)} if isinstance(value, Number) else encode(value)


def attribute(value):
    return {"real": repr(value)} if isinstance(value, float) else value


def by_torch(function, tensors, wrt):
    given = [torch.tensor(t, requires_grad=i in wrt) for i, t in enumerate(tensors)]
    outputs = function(*given)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    seeds = [real(*o.shape) if o.dtype.is_floating_point and o.requires_grad else None
             for o in outputs]
    of = [i for i, s in enumerate(seeds) if s is not None]
    gradients = []
    if wrt and of:
        gradients = torch.autograd.grad([outputs[i] for i in of], [given[i] for i in wrt],
                                        [torch.tensor(seeds[i]) for i in of], allow_unused=True)
        gradients = [torch.zeros_like(given[i]) if g is None else g for i, g in zip(wrt, gradients)]
    return ([o.detach().numpy() for o in outputs], of, [seeds[i] for i in of],
            [g.numpy() for g in gradients])


def by_jax(function, tensors, wrt):
    as_tuple = lambda y: y if isinstance(y, tuple) else (y,)
    outputs = as_tuple(function(*[jnp.asarray(t) for t in tensors]))
    of = [i for i, o in enumerate(outputs) if np.asarray(o).dtype.kind == "f"]

    def of_wrt(*xs):
        full = [jnp.asarray(t) for t in tensors]
        for i, x in zip(wrt, xs):
            full[i] = x
        return tuple(as_tuple(function(*full))[i] for i in of)

    seeds = [real(*np.shape(outputs[i])) for i in of]
    gradients = []
    if wrt and of:
        _, pullback = jax.vjp(of_wrt, *[jnp.asarray(tensors[i]) for i in wrt])
        gradients = pullback(tuple(jnp.asarray(s) for s in seeds))
    return [np.asarray(o) for o in outputs], of, seeds, [np.asarray(g) for g in gradients]


def case(name, function, *operands, by=by_torch, label="", wrt=None, **attributes):
    tensors = [o for o in operands if isinstance(o, np.ndarray)]
    if wrt is None:
        wrt = [i for i, t in enumerate(tensors) if t.dtype.kind == "f"]
    outputs, of, seeds, gradients = by(function, tensors, wrt)
    if not all(np.isfinite(o.astype(np.float64)).all() and o.size for o in outputs):
        raise ValueError(f"{name}: not finite, or empty")
    entry = {"name": name, "label": label or json.dumps(attributes),
             "operands": [operand(o) for o in operands],
             "attributes": {k: attribute(v) for k, v in attributes.items()},
             "outputs": [encode(o) for o in outputs]}
    if wrt and of:
        entry.update(wrt=wrt, differentiated_outputs=of, seeds=[encode(s) for s in seeds],
                     gradients=[encode(g) for g in gradients])
    CASES.append(entry)


def pick(*values):
    return values[RNG.integers(len(values))]


def numbers(space, low, high):
    """One number for all dimensions, or one for each."""
    one = int(RNG.integers(low, high))
    return pick(one, [int(RNG.integers(low, high)) for _ in range(space)])
