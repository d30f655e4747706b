"""Ways by which a number goes from a tensor to an operator: none is silent.

A step is recorded with two values of one tensor. Where the logs differ in more than the values of numbers whose origin they say, a number
was taken for a constant, and the trace has to list it."""
import asyncio
import bisect
import cmath
import concurrent.futures
import copy
import fractions
import io
import itertools
import math
import operator
import pickle
import random
import statistics
import struct
import threading

import numpy
import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

TABLE = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]
EARLIER = concurrent.futures.ThreadPoolExecutor(1)
EARLIER.submit(len, "").result()


class ScalesGradient(torch.autograd.Function):
    """Multiplies the gradient by a number that it reads from a tensor in the backward pass."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return x * 1.5

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.n.item(), None


class ScalesResult(torch.autograd.Function):
    """The same of the result, in the forward pass."""

    @staticmethod
    def forward(ctx, x, n):
        return x * n.item()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class ScalesProducts(torch.Tensor):
    """A tensor of the program's own kind."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            if func in (torch.Tensor.mul, torch.Tensor.__mul__):
                return func(args[0].as_subclass(torch.Tensor) * args[0].n.item(), args[1])
            return func(*args, **(kwargs or {}))


@torch.jit.script
def scripted(a, n):
    return a * n.item()


@torch.jit.script
def scripted_product(a, n: float):
    return a * n


def grad(y, a, **options):
    return torch.autograd.grad(y.sum(), a, **options)[0]


def hooked(register, end):
    def way(a, n):
        b = a * 2.5
        register(b, n)
        return end(b, a)
    return way


def through_backward(b, a):
    b.sum().backward()
    return a.grad


def after_accumulation(a, n):
    found = []
    a.register_post_accumulate_grad_hook(lambda p: found.append(p.grad * n.item()))
    (a * 2.5).sum().backward()
    return found[0]


def saved(pack, unpack):
    def way(a, n):
        with torch.autograd.graph.saved_tensors_hooks(lambda x: pack(x, n), lambda x: unpack(x, n)):
            b = a.exp()
        return grad(b, a)
    return way


def again(a, n, times):
    y = a ** n.item()
    for _ in range(times - 1):
        y = grad(y, a, create_graph=True)
    return grad(y, a)


def module_with(register):
    def way(a, n):
        module = torch.nn.Tanh()
        register(module, n)
        return grad(module(a * 1.5), a)
    return way


def stepped(prepare, kind=torch.optim.SGD, **options):
    def way(a, n):
        optimizer = kind([a], lr=0.1, **options)
        prepare(optimizer, n, a)
        (a * 1.5).sum().backward()
        optimizer.step()
        return a
    return way


def rate(optimizer, n, a):
    optimizer.param_groups[0]["lr"] = n.item()


def scale_gradient(optimizer, n, a):
    optimizer.register_step_pre_hook(lambda *_: _nothing(a.grad.mul_(n.item())))


def _nothing(_):
    return None


def in_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def in_pool(work):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def looped(a, count):
    for _ in range(count):
        a = a * 1.5
    return a


def assigned(a, place, value):
    b = a * 1.5
    b[place] = value
    return b


def whole(n):
    return n.int().item()


IN_AUTOGRAD = {
    "grad of a function": lambda a, n: grad(ScalesGradient.apply(a, n), a),
    "backward of a function": lambda a, n: through_backward(ScalesGradient.apply(a, n), a),
    "autograd.backward of a function": lambda a, n: (torch.autograd.backward(ScalesGradient.apply(a, n).sum()), a.grad)[1],
    "forward of a function": ScalesResult.apply,
    "tensor hook in grad": hooked(lambda b, n: b.register_hook(lambda g: g * n.item()), grad),
    "tensor hook in backward": hooked(lambda b, n: b.register_hook(lambda g: g * n.item()), through_backward),
    "node hook": hooked(lambda b, n: b.grad_fn.register_hook(lambda i, _: (i[0] * n.item(), *i[1:])), grad),
    "node prehook": hooked(lambda b, n: b.grad_fn.register_prehook(lambda o: (o[0] * n.item(),)), grad),
    "after accumulation": after_accumulation,
    "second derivative": lambda a, n: again(a, n, 2),
    "third derivative": lambda a, n: again(a, n, 3),
    "backward of a gradient": lambda a, n: through_backward(grad(a ** n.item(), a, create_graph=True), a),
    "second derivative of a product": lambda a, n: grad(grad(a.exp() * n.item(), a, create_graph=True), a),
    "hook that packs": saved(lambda x, n: x * n.item(), lambda x, n: x),
    "hook that unpacks": saved(lambda x, n: x, lambda x, n: x * n.item()),
    "checkpoint": lambda a, n: grad(checkpoint(lambda x: (x * n.item()).exp(), a, use_reentrant=False), a),
    "reentrant checkpoint": lambda a, n: through_backward(checkpoint(lambda x: (x * n.item()).exp(), a, use_reentrant=True), a),
    "function in a checkpoint": lambda a, n: grad(checkpoint(lambda x: ScalesGradient.apply(x, n).exp(), a, use_reentrant=False), a),
    "functional vjp": lambda a, n: torch.autograd.functional.vjp(lambda x: ScalesGradient.apply(x, n), a.detach(), torch.ones(8))[1],
    "functional jacobian": lambda a, n: torch.autograd.functional.jacobian(lambda x: ScalesGradient.apply(x, n), a.detach()),
    "func.grad": lambda a, n: torch.func.grad(lambda x: (x * n.item()).sum())(a.detach()),
    "forward hook": module_with(lambda m, n: m.register_forward_hook(lambda *x: x[2] * n.item())),
    "backward hook": module_with(lambda m, n: m.register_full_backward_hook(lambda _, i, o: (i[0] * n.item(),))),
    "optimizer's hook": stepped(scale_gradient),
    "rate": stepped(rate), "rate of Adam": stepped(rate, torch.optim.Adam), "foreach": stepped(rate, torch.optim.Adam, foreach=True),
    "gradient of a base": lambda a, n: grad(n.item() ** a, a),
    "gradient of a norm": lambda a, n: grad(torch.linalg.vector_norm(a, n.item()), a),
    "gradient of a weight": lambda a, n: grad(torch.lerp(a, a * 2.5, 1 / n.item()), a),
    "gradient of a slope": lambda a, n: grad(F.leaky_relu(a - 4, n.item()), a),
    "gradient of dropout": lambda a, n: grad(F.dropout(a, 1 / n.item()), a),
    "thread": lambda a, n: a * in_thread(n.item), "operator in a thread": lambda a, n: in_thread(lambda: a * n.item()) + 0,
    "pool": lambda a, n: a * in_pool(n.item), "earlier pool": lambda a, n: a * EARLIER.submit(n.item).result(),
    "coroutine": lambda a, n: a * asyncio.run(_awaited(n)),
    "kind of tensor": lambda a, n: (_of_kind(a, n) * 1.5).as_subclass(torch.Tensor),
    "distance": lambda a, n: F.triplet_margin_with_distance_loss(
        a.view(2, 4), a.view(2, 4) * 2, a.view(2, 4) * 3, margin=30.0, distance_function=lambda x, y: (x * n.item() - y).sum(-1)),
    "script": scripted, "number of a script": lambda a, n: scripted_product(a, n.item()),
}


async def _awaited(n):
    return n.item()


def _of_kind(a, n):
    made = a.detach().as_subclass(ScalesProducts)
    made.n = n
    return made


IN_PYTHON = {
    "list": lambda a, n: a * TABLE[whole(n)], "tuple": lambda a, n: a * tuple(TABLE)[whole(n)],
    "list by a tensor": lambda a, n: a * TABLE[n.int()], "dictionary": lambda a, n: a * {3: 1.5, 5: 2.5}[whole(n)],
    "slice": lambda a, n: a * sum(TABLE[:whole(n)]), "range": lambda a, n: looped(a, whole(n)),
    "last of a range": lambda a, n: a * range(whole(n))[-1], "range of a tensor": lambda a, n: looped(a, n.long()),
    "islice": lambda a, n: a * sum(itertools.islice(TABLE, whole(n))), "repetition": lambda a, n: a * len([0] * whole(n)),
    "pop": lambda a, n: a * list(TABLE).pop(whole(n)), "enumerate": lambda a, n: a * next(enumerate("x", whole(n)))[0],
    "str": lambda a, n: a * float(str(n.item())), "f-string": lambda a, n: a * float(f"{n.item():.3f}"),
    "f-string of a tensor": lambda a, n: a * float(f"{n}"), "repr": lambda a, n: a * float("".join(["0", repr(n.item())])),
    "text of an int": lambda a, n: a * int(str(whole(n))), "hex": lambda a, n: a * int(hex(whole(n)), 16),
    "chr": lambda a, n: a * ord(chr(whole(n))), "bytes": lambda a, n: a * len(bytes(whole(n))),
    "from_bytes": lambda a, n: a * int.from_bytes(whole(n).to_bytes(4, "big"), "big"),
    "struct": lambda a, n: a * struct.unpack("d", struct.pack("d", n.item()))[0],
    "min": lambda a, n: a * min(n.item(), 4.0), "max of one": lambda a, n: a * max([n.item()]),
    "sum": lambda a, n: a * sum([n.item(), 1.0]), "sorted": lambda a, n: a * sorted([n.item(), 4.0])[0],
    "sorted by key": lambda a, n: a * sorted(TABLE, key=lambda v: abs(v - n.item()))[0],
    "bisect": lambda a, n: a * bisect.bisect(TABLE, n.item()), "in": lambda a, n: a * (2.5 if n.item() in [3.0, 9.0] else 1.5),
    "in a set": lambda a, n: a * (2.5 if n.item() in {3.0, 9.0} else 1.5), "bool": lambda a, n: a * (2.5 if n.item() - 3 else 1.5),
    "count": lambda a, n: a * ([3.0, 1.0].count(n.item()) + 1.5), "is_integer": lambda a, n: a * (1 + (n / 3).item().is_integer()),
    "ratio": lambda a, n: a * operator.truediv(*n.item().as_integer_ratio()), "real": lambda a, n: a * n.item().real,
    "conjugate": lambda a, n: a * n.item().conjugate(), "numerator": lambda a, n: a * whole(n).numerator,
    "bit_length": lambda a, n: a * (whole(n) * 7).bit_length(), "pow": lambda a, n: a * pow(whole(n), 2, 7),
    "divmod": lambda a, n: a * divmod(7.0, n.item())[0], "index": lambda a, n: a * (operator.index(whole(n)) / 7),
    "__int__": lambda a, n: a * (n.item().__int__() / 7), "complex": lambda a, n: a * complex(n.item(), 0).real,
    "complex of a tensor": lambda a, n: a * complex(n).real, "product with a complex number": lambda a, n: a * (n.item() * (1 + 0j)).real,
    "fsum": lambda a, n: a * math.fsum([n.item(), 1]), "prod": lambda a, n: a * math.prod(x for x in (n.item(), 1.5)),
    "modf": lambda a, n: a * math.modf(n.item() * 1.3)[0], "factorial": lambda a, n: a * math.factorial(whole(n)),
    "dist": lambda a, n: a * math.dist([n.item()], [1.5]), "cmath": lambda a, n: a * cmath.sqrt(n.item()).real,
    "mean": lambda a, n: a * statistics.mean([n.item(), 1.0]), "fmean": lambda a, n: a * statistics.fmean([n.item(), 1.0]),
    "fraction": lambda a, n: a * float(fractions.Fraction(n.item()) / 7),
    "uniform": lambda a, n: (random.seed(0), a * random.uniform(1.0, n.item()))[1],
    "randint": lambda a, n: (random.seed(0), a * random.randint(1, 100 * whole(n)))[1],
    "seed": lambda a, n: (torch.manual_seed(int(n.item())), a * torch.rand(8))[1],
    "pickle": lambda a, n: a * pickle.loads(pickle.dumps(n.item())), "deepcopy": lambda a, n: a * copy.deepcopy([n.item()])[0],
    "pickle of a tensor": lambda a, n: a * pickle.loads(pickle.dumps(n)), "save": lambda a, n: a * _saved(n),
    "arithmetic after __float__": lambda a, n: a * (whole(n).__float__() / 7), "long arithmetic": lambda a, n: a * _long(n.item()),
}


def _saved(n):
    stream = io.BytesIO()
    torch.save(n, stream)
    stream.seek(0)
    return torch.load(stream)


def _long(x):
    for _ in range(70):
        x = x * 1.01 + 0.01
    return x


IN_NUMPY = {
    "sqrt": lambda a, n: a * numpy.sqrt(n.item()), "float64": lambda a, n: a * float(numpy.float64(n.item())),
    "array": lambda a, n: a * float(numpy.array([n.item()])[0]), "mean": lambda a, n: a * float(numpy.mean([n.item(), 1.0])),
    "clip": lambda a, n: a * float(numpy.clip(n.item(), 0, 4)), "arange": lambda a, n: a * float(numpy.arange(whole(n)).sum()),
    "product": lambda a, n: a * float((numpy.ones(2) * n.item())[0]), "scalar": lambda a, n: a * float(n.item() * numpy.float64(1.5)),
    "index": lambda a, n: a * float(numpy.arange(9.0)[whole(n)]), "asarray": lambda a, n: a * float(numpy.asarray(n)),
    "from_numpy": lambda a, n: a * torch.from_numpy(numpy.array([n.item()] * 8)),
    "dlpack": lambda a, n: a * torch.from_dlpack(numpy.from_dlpack(n).copy()), "random": lambda a, n: a * _drawn(whole(n)),
}


def _drawn(seed):
    return float(numpy.random.default_rng(seed).random())


IN_TORCH = {
    "tensor": lambda a, n: a * torch.tensor([n.item()] * 8), "as_tensor": lambda a, n: a * torch.as_tensor(n.item()),
    "full": lambda a, n: a * torch.full((8,), n.item()), "full of a tensor": lambda a, n: a * torch.full((8,), n),
    "full_like": lambda a, n: a * torch.full_like(a, n), "fill_": lambda a, n: a * torch.empty(8).fill_(n.item()),
    "alpha": lambda a, n: torch.add(a, a, alpha=n), "alpha beside an equal number": lambda a, n: torch.add(a, 3.0, alpha=n),
    "value": lambda a, n: torch.addcmul(a, a, a, value=n), "slope": lambda a, n: F.leaky_relu(a - 4, n),
    "scale of attention": lambda a, n: F.scaled_dot_product_attention(*[a.view(1, 1, 4, 2)] * 3, scale=n.item()),
    "dropout of attention": lambda a, n: F.scaled_dot_product_attention(*[a.view(1, 1, 4, 2)] * 3, dropout_p=1 / n.item()),
    "dropout": lambda a, n: F.dropout(a, 1 / n.item()), "epsilon": lambda a, n: F.rms_norm(a, (8,), eps=n.item()),
    "smoothing": lambda a, n: F.cross_entropy(a.view(2, 4), torch.tensor([1, 2]), label_smoothing=1 / n.item()),
    "ignored": lambda a, n: F.cross_entropy(a.view(2, 4), torch.tensor([1, 3]), ignore_index=whole(n)),
    "interpolate": lambda a, n: F.interpolate(a.view(1, 1, 8), size=whole(n)),
    "where": lambda a, n: torch.where(a > 4, a, n.item()), "where of numbers": lambda a, n: torch.where(a > 4, n.item(), 1.5),
    "comparison": lambda a, n: (a > n.item()).float() * a, "reversed comparison": lambda a, n: (n.item() > a).float() * a,
    "masked_fill": lambda a, n: a.masked_fill(a > 4, n.item()), "assignment": lambda a, n: assigned(a, 2, n.item()),
    "assignment at a number": lambda a, n: assigned(a, whole(n), 1.5), "element": lambda a, n: a[whole(n)],
    "element by a tensor": lambda a, n: a[n.int()], "slice": lambda a, n: a[:whole(n)], "slice by a tensor": lambda a, n: a[:n.int()],
    "narrow": lambda a, n: a.narrow(0, 0, whole(n)), "narrow by a tensor": lambda a, n: a.narrow(0, n.long(), 2),
    "roll": lambda a, n: a.roll(whole(n)), "arange": lambda a, n: torch.arange(whole(n)), "zeros": lambda a, n: torch.zeros(whole(n)),
    "split": lambda a, n: a.split(whole(n))[0], "tensor_split": lambda a, n: a.tensor_split(n.long())[0],
    "topk": lambda a, n: a.topk(whole(n))[0], "tril": lambda a, n: torch.tril(torch.ones(8, 8), diagonal=whole(n)) * a,
    "dim": lambda a, n: a.view(2, 2, 2).sum(whole(n) % 2 if whole(n) > 4 else 0), "dtype": lambda a, n: a.to(_TYPES[whole(n)]),
    "equal": lambda a, n: a * (2.5 if torch.equal(n, torch.tensor(3.0)) else 1.5),
    "allclose": lambda a, n: a * (2.5 if torch.allclose(n, torch.tensor(3.0)) else 1.5),
    "is_nonzero": lambda a, n: a * (2.5 if torch.is_nonzero(n - 3) else 1.5), "if": lambda a, n: a * (2.5 if n > 4 else 1.5),
    "contains": lambda a, n: a * (2.5 if 3.0 in n.view(1) else 1.5), "tolist": lambda a, n: a * n.tolist(),
    "size of nonzero": lambda a, n: a / len(torch.nonzero(torch.arange(8.0) < n)),
    "size of a mask": lambda a, n: a / a.detach()[torch.arange(8.0) < n].numel(),
    "size of unique": lambda a, n: a / torch.unique(torch.minimum(torch.arange(8.0), n)).numel(),
    "size of bincount": lambda a, n: a / torch.bincount(n.int().view(1)).numel(),
    "packet": lambda a, n: a * torch.ops.aten._local_scalar_dense(n), "method of the base": lambda a, n: a * torch._C.TensorBase.item(n),
    "truth value": lambda a, n: a * ((n > 4).item() * 1.5 + 1),
}
_TYPES = {3: torch.float64, 5: torch.float32}


def without_values(entry):
    """The log without the values of numbers whose origin it says."""
    if isinstance(entry, dict):
        if entry.keys() & {"item", "computed", "may_be"}:
            entry = {key: value for key, value in entry.items() if key not in ("value", "out")}
            if isinstance(entry.get("computed"), list) and str(entry["computed"][1]).startswith("gradient."):
                entry["computed"] = entry["computed"][:-1]  # a function of the number that it is
        return {key: without_values(value) for key, value in entry.items()}
    return [without_values(each) for each in entry] if isinstance(entry, list) else entry


def log(recorded, way, value):
    torch.manual_seed(0)
    a, n = torch.arange(1.0, 9.0).requires_grad_(), torch.tensor(value)
    content = recorded(lambda: {"y": way(a, n)}, inputs={"a": a, "n": n}).content
    constants = [{key: value for key, value in each.items() if key in ("uniform", "values", "digest")} for each in content["storages"]]
    listed = content.get("numbers", []) + [note for note in content["notes"] if "numbers left tensors" in note]
    tied = any(text in str(content["operators"]) for text in ("'item': 0, 'value'", "'computed'", "'may_be'"))
    return (without_values(content["operators"]), constants), content["tensors"], listed, tied


@pytest.mark.parametrize("way", [pytest.param(way, id=f"{group}-{name}") for group, ways in (
    ("autograd", IN_AUTOGRAD), ("python", IN_PYTHON), ("numpy", IN_NUMPY), ("torch", IN_TORCH)) for name, way in ways.items()])
def test_no_way_is_silent(way, recorded):
    (first, views, listed, tied), (second, other_views, other_listed, _) = (log(recorded, way, value) for value in (3.0, 5.0))
    if first != second or (views != other_views and not tied):
        assert listed and other_listed
    else:
        assert listed or tied  # what does not depend on the tensor at all shows nothing


@pytest.mark.parametrize("group, name", [
    ("autograd", name) for name in IN_AUTOGRAD if name not in ("func.grad", "gradient of dropout", "script", "number of a script", "kind of tensor")] + [
    ("python", name) for name in ("real", "conjugate", "divmod", "fsum", "modf", "mean", "ratio", "prod")])
def test_what_can_be_followed_is(group, name, recorded):
    way = {"autograd": IN_AUTOGRAD, "python": IN_PYTHON}[group][name]
    (first, _, _, tied), (second, _, _, _) = (log(recorded, way, value) for value in (3.0, 5.0))
    assert first == second and tied


def test_numbers_that_went_through_c_are_listed_by_their_digits(recorded):
    a, n = torch.ones(2), torch.tensor(0.7853981)
    for way in (lambda: a * float("%r" % n.item()), lambda: a * torch.FloatTensor([n.item()] * 2), lambda: a * (1j * n.item()).imag):
        numbers = recorded(lambda: {"y": way()}, inputs={"a": a, "n": n}).content["numbers"]
        assert ("conversion", "item") in [(each["way"], each["by"]) for each in numbers]


def test_a_literal_in_a_hook_is_not_taken_for_the_number_of_the_node(recorded):
    a, n = torch.ones(2, requires_grad=True), torch.tensor(2.0)

    def step():
        b = a * n.item()
        b.grad_fn.register_prehook(lambda gradients: (gradients[0] * 2.0,))
        return {"y": grad(b, a)}

    products = [entry["args"][1] for entry in recorded(step, inputs={"a": a, "n": n}).of("aten.mul.Tensor")]
    assert products == [{"item": 0, "value": 2.0}, 2.0, {"item": 0, "value": 2.0}]


def test_constants_of_torch_s_formulas_are_not_taken_for_numbers_of_the_call(recorded):
    a, n = torch.ones(8, requires_grad=True), torch.tensor(3.0)
    trace = recorded(lambda: {"y": grad(F.rms_norm(a, (8,), eps=n.item()), a)}, inputs={"a": a, "n": n})
    assert 2 in [entry["args"][1] for entry in trace.of("aten.pow.Tensor_Scalar")]  # the square, not n - 1


def test_a_complex_item_is_refused_with_a_remedy(recorded):
    from planproof.errors import RecordingError
    a = torch.ones(2)
    with pytest.raises(RecordingError, match="complex number leaves a tensor at .*take the real and the imaginary part"):
        recorded(lambda: {"y": a * torch.complex(a[0], a[1]).item().real}, inputs={"a": a})


def test_torch_is_itself_again_afterwards(recorded):
    from torch.autograd.variable import Variable
    engine, run, hooks = Variable._execution_engine, threading.Thread._bootstrap_inner, torch._C._autograd._push_saved_tensors_default_hooks
    recorded(lambda: None)
    assert (Variable._execution_engine, threading.Thread._bootstrap_inner) == (engine, run)
    assert torch._C._autograd._push_saved_tensors_default_hooks is hooks
    assert "item" not in vars(torch.Tensor) and struct.pack("d", 1.0) and type(math.modf(1.5)[0]).__name__ == "float"


SCALE = torch.tensor([3.0, 3.0])  # counts of two parts of the batch, which are equal by accident


def scaled_in_backward(x, n):
    return grad(ScalesGradient.apply(x, n), x)


def scaled_in_a_hook(x, n):
    y = x * 1.5
    y.register_hook(lambda gradient: gradient * n.item())
    return grad(y, x)


def scaled_twice(x, n):
    return grad(grad(x ** n.item(), x, create_graph=True), x)


def scaled_in_a_thread(x, n):
    return x * in_thread(n.item)


def literal_in_a_hook(x, n):
    y = x * n.item()
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 3.0,))
    return grad(y, x)


def number_in_a_hook(x, n):
    y = x * n.item()
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * n.item(),))
    return grad(y, x)


def build_scaled(mesh, way, of_rank):
    """The program scales by the count of the first part; with `of_rank` ranks take that of the last one."""
    from planproof.torch import Training
    x, counts = torch.arange(1.0, 5.0).requires_grad_(), SCALE.clone()
    place = 1 if mesh is not None and of_rank else 0
    reference, ranks = way
    return Training(lambda: {"y": (ranks if mesh is not None else reference)(x, counts[place])}, None, inputs={"x": x, "counts": counts})


@pytest.mark.parametrize("way, of_rank", [((way, way), True) for way in (
    scaled_in_backward, scaled_in_a_hook, scaled_twice, scaled_in_a_thread)] + [((number_in_a_hook, literal_in_a_hook), False)])
def test_numbers_that_are_equal_by_accident_are_not_proved(way, of_rank, tmp_path):
    from functools import partial
    from planproof.torch import check
    right = check(partial(build_scaled, way=(way[0], way[0]), of_rank=False), {"dp": 2}, start_method="fork", warmup=1)
    wrong = check(partial(build_scaled, way=way, of_rank=of_rank), {"dp": 2}, start_method="fork", warmup=1)
    assert not wrong and (right or way[0] is scaled_twice)  # x to a power that is no constant has no declared meaning


def test_comparisons_with_infinity_are_decisions_that_the_reader_takes(recorded):
    a, n = torch.ones(2), torch.tensor(2.5)

    def step():
        best = math.inf
        y = a * (1.5 if n.item() < best else 2.5)
        return {"y": y * min(n.item() * math.inf, 3.0)}

    numbers = recorded(step, inputs={"a": a, "n": n}).content["numbers"]
    decision, product = numbers[0], numbers[1]
    assert (decision["way"], decision["of"], decision["value"]) == ("decision", [{"item": 0}], [2.5, {"float": "inf"}])
    assert (product["way"], product["by"], product["of"]) == ("conversion", "arithmetic", [0])


def test_numbers_of_earlier_iterations_are_no_constants(tmp_path):
    from planproof.torch import record
    from planproof.torch.beginning import Beginning
    from planproof.torch.trace_file import load
    a, n, kept = torch.ones(2), torch.tensor([2.5, 3.5]), [1.5, 1.5]

    def step():
        y = (a * kept[0] + kept[1]) * 1.5
        kept[0], kept[1] = n[0].item(), kept[1] + float(n[1]) / 2
        return {"y": y}

    beginning = Beginning([], [], {"a": a, "n": n}, None)
    beginning.iterate(step, True)
    record(step, tmp_path / "rank0.trace", inputs={"a": a, "n": n}, beginning=beginning)
    operators = load(tmp_path / "rank0.trace")["operators"]
    (added,) = [entry["args"][1] for entry in operators if entry["op"] == "aten.add.Tensor"]
    products = [entry["args"][1] for entry in operators if entry["op"] == "aten.mul.Tensor"]
    assert products == [{"computed": ["call", "item of an earlier iteration", 2.5], "value": 2.5}, 1.5]
    assert added == {"computed": ["call", "item of an earlier iteration", 3.25], "value": 3.25}
    assert type(torch.tensor(2.5).item()).__name__ == "float"
