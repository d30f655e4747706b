"""Programs of a few operators: run in torch, and written as traces without the recorder.

A program is a function of a `run` (Plain or Written) and its free inputs, which gives a list of results. It makes constants by
`run.constant(tensor)` and runs operators by `run(overload, *args, **kwargs)`."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode


def leaves(value):
    """The tensors in a value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for each in value for tensor in leaves(each)] if isinstance(value, (list, tuple)) else []


class Undefined(Exception):
    """An element is written twice, so that it is open which of the values stays, or a result takes other memory than it was given."""


def written_by(overload, args, kwargs):
    """What the operator writes, in the order of its parameters."""
    parameters = overload._schema.arguments
    return leaves([args[i] if i < len(args) else kwargs.get(each.name) for i, each in enumerate(parameters)
                   if each.alias_info is not None and each.alias_info.is_write])


def check_written_once(overload, args, kwargs):
    """Raises Undefined of operators that put elements at indices."""
    name, names = str(overload).split(".")[1].rstrip("_"), [each.name for each in overload._schema.arguments]
    given = dict(zip(names, args)) | kwargs
    if name not in ("scatter", "index_copy", "index_put", "_unsafe_index_put") or given.get("accumulate") or "src" not in given and name == "scatter":
        return
    counts = torch.zeros(given["self"].shape, dtype=torch.int64)
    if name == "scatter":
        counts.scatter_add_(given["dim"], given["index"], torch.ones(given["index"].shape, dtype=torch.int64))
    elif name == "index_copy":
        counts.index_add_(given["dim"], given["index"], torch.ones(given["source"].shape, dtype=torch.int64))
    else:
        counts = torch.ops.aten.index_put(counts, given["indices"], torch.ones((), dtype=torch.int64), True)
    if (counts > 1).any():
        raise Undefined(str(overload))


class Plain:
    """Only computes."""

    def constant(self, tensor):
        return tensor.clone(memory_format=torch.preserve_format)

    def __call__(self, overload, *args, **kwargs):
        before = [each.shape for each in written_by(overload, args, kwargs)]
        out = overload(*args, **kwargs)
        check_written_once(overload, args, kwargs)
        if before != [each.shape for each in written_by(overload, args, kwargs)]:
            raise Undefined(f"{overload} resizes")
        return out

    def decomposed(self, function, *args, **kwargs):
        """What a Python function computes, by the operators that it runs."""
        return function(*args, **kwargs)


class _Dispatch(TorchDispatchMode):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.run(func, *args, **(kwargs or {}))


def number(value):
    if isinstance(value, float) and value != value:
        return {"float": "nan"}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"float": "inf" if value > 0 else "-inf"}
    return value


class Written(Plain):
    """Computes, and writes down what it did."""

    def __init__(self):
        self.storages, self.tensors, self.inputs, self.operators = [], [], [], []
        self._storages, self._tensors, self._kept = {}, {}, []

    def _storage(self, tensor, **contents):
        memory = tensor.untyped_storage()
        if memory._cdata not in self._storages:
            self._kept.append(memory)
            self._storages[memory._cdata] = len(self.storages)
            dtype = str(tensor.dtype).removeprefix("torch.")
            self.storages.append({"dtype": dtype, "size": memory.nbytes() // tensor.element_size(), **contents})
        return self._storages[memory._cdata]

    def number_of(self, tensor):
        key = (self._storage(tensor), str(tensor.dtype).removeprefix("torch."), tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        if key not in self._tensors:
            self._kept.append(tensor)
            self._tensors[key] = len(self.tensors)
            self.tensors.append([*key[:3], list(key[3]), list(key[4])])
        return self._tensors[key]

    def input(self, name, tensor, domain=None):
        more = {"domain": list(domain)} if domain else {}
        self.inputs.append({"role": "input", "name": name, "tensor": self.number_of(tensor), **more})
        return tensor

    def constant(self, tensor):
        """The values of the whole storage are written down."""
        if tensor.is_complex():
            raise NotImplementedError("complex constants have no values in a trace")
        tensor = tensor.clone(memory_format=torch.preserve_format)
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        values = [number(each) for each in tensor.as_strided([size], [1], 0).tolist()]
        values = [int(each) for each in values] if tensor.dtype == torch.bool else values
        alike = len(values) > 1 and all(each == values[0] for each in values)
        self._storage(tensor, **({"uniform": values[0]} if alike else {"values": values} if values else {}))
        return tensor

    def encoded(self, value):
        if isinstance(value, torch.Tensor):
            return {"tensor": self.number_of(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, (list, tuple)):
            return [self.encoded(each) for each in value]
        if isinstance(value, (int, float)):
            return number(value)
        return value if value is None or isinstance(value, str) else {"other": str(value)}

    def __call__(self, overload, *args, **kwargs):
        if overload.namespace != "aten" or str(overload).startswith("aten.item"):
            raise NotImplementedError(str(overload))
        out = super().__call__(overload, *args, **kwargs)
        written = written_by(overload, args, kwargs)
        entry = {"op": str(overload), "args": [self.encoded(each) for each in args],
                 "out": [self.encoded(each) for each in (out if isinstance(out, (tuple, list)) else (out,))]}
        if kwargs:
            entry["kwargs"] = {name: self.encoded(each) for name, each in kwargs.items()}
        if written:
            entry["writes"] = [self.number_of(each) for each in written]
        self.operators.append(entry)
        self._kept += leaves(out)
        return out

    def decomposed(self, function, *args, **kwargs):
        with _Dispatch(self):
            return function(*args, **kwargs)

    def trace(self, results):
        named = [{"kind": "output", "name": f"y{index}", "tensor": self.number_of(each)} for index, each in enumerate(results)]
        return {"planproof_torch_trace": 1, "torch": "2", "rank": 0, "world": 1, "axes": [], "groups": [], "strings": [],
                "storages": self.storages, "tensors": self.tensors, "inputs": self.inputs, "operators": self.operators, "results": named,
                "notes": []}
