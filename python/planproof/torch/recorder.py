"""Records the operators that PyTorch's dispatcher sees: one rank, one iteration."""
from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch.overrides import _pop_mode as _pop_function_mode
from torch.overrides import _push_mode as _push_function_mode
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode, _push_mode
from torch.utils._pytree import tree_leaves

from planproof.errors import RecordingError
from planproof.torch import collectives
from planproof.torch.choices import chosen_indices
from planproof.torch.counted import Calls
from planproof.torch.cpu_kernels import separate_steps
from planproof.torch.draws import Draws, is_fresh, is_random
from planproof.torch.memory import Memory, dtype_name
from planproof.torch.numbers_of_tensors import Items
from planproof.torch.places import Place, Places
from planproof.torch.reentered import threads_are_followed
from planproof.torch.sketches import OperatorSketches
from planproof.torch.subclasses import Seen, is_fake, seen
from planproof.torch.trace_file import Groups, Strings, number

#: Their operators have no effect on values.
_WITHOUT_EFFECT = ("profiler", "debugprims")
#: Operators that give a tensor other memory instead of writing it.
_OTHER_MEMORY = ("aten::set_", "aten::resize_", "aten::resize_as_", "aten::set_data")
#: Gives an AsyncCollectiveTensor around the tensor; what it is used for comes back here.
_WRAPPERS = ("_c10d_functional::_wrap_tensor_autograd",)
_TO_PYTHON = ("aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::is_nonzero")
#: Types of arguments that can take a number that was computed from a tensor.
_TAKES_NUMBERS = ("Scalar", "number", "float", "Tensor", "Optional[number]", "Optional[float]", "List[number]", "List[float]",
                  "Optional[List[float]]")

#: Batch norms whose schemas do not say that they write running statistics.
_BATCH_NORMS = ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm")


def _writes_unannounced(func: Any, result: Any) -> List[torch.Tensor]:
    """What operators write whose schemas do not say so."""
    return [result[0]] if func._schema.name == "fsdp::all_gather_copy_in" else []


def _running_statistics(schema: Any, args: Any, kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    """Running statistics that a batch norm changes in training, which its schema does not say."""
    if schema.name not in _BATCH_NORMS:
        return []
    given = dict(zip((each.name for each in schema.arguments), args)) | kwargs
    running = [given.get(name) for name in ("running_mean", "running_var")]
    return [each for each in running if each is not None] if given["training"] else []


class Recorder(TorchDispatchMode):
    """While it is active every operator is appended to `operators`, as the format has it."""

    def __init__(self, memory: Memory, places: Places, draws: Draws) -> None:
        super().__init__()
        self.memory, self.places, self.draws = memory, places, draws
        #: States of generators before operators that draw and are recorded as what they are, by position.
        self.generators: Dict[int, torch.Tensor] = {}
        self.strings, self.groups, self.items = Strings(), Groups(), Items()
        self.operators: List[Dict[str, Any]] = []
        self.item_values: List[Any] = []
        self.notes: List[str] = []
        self.calls = Calls()
        self.sketches = OperatorSketches()
        self._of_thread = threading.local()  # whether what a thread runs is not recorded
        self._over = False  # threads of the program may go on
        self._works = 0
        self._by_work: Dict[int, Tuple[Any, List[int]]] = {}  # id of a handle that is kept alive
        self._ended: Dict[int, Any] = {}  # handles whose results have been replaced
        self._by_storage: Dict[int, List[int]] = {}  # results of functional collectives
        self._native: Dict[int, List[int]] = {}  # storages whose wait nobody sees

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Records what runs within."""
        before = len(self.memory.initial)
        with ExitStack() as stack:
            stack.enter_context(self.places.followed())
            calls = stack.enter_context(self.items.following(self._escaped, self._line))
            stack.enter_context(self._waits())
            stack.enter_context(separate_steps())
            stack.enter_context(threads_are_followed(lambda: self._in_thread(calls)))
            stack.enter_context(self._eagerly())
            stack.enter_context(self)
            stack.callback(setattr, self, "_over", True)
            yield
        for storage in list(self._native):
            self._wait_for_native(storage)
        for storage, data in list(self.memory.initial.items())[before:]:
            if self.memory.dtype(storage) in (torch.float32, torch.float64):
                self.items.in_memory(data.view(self.memory.dtype(storage)).numpy())
        self.calls.check()

    @contextmanager
    def _in_thread(self, calls: Any) -> Iterator[None]:
        """Records what runs within, in another thread than the recording's."""
        _push_function_mode(calls)
        _push_mode(self)
        try:
            yield
        finally:
            _pop_mode()
            _pop_function_mode()

    @contextmanager
    def _eagerly(self) -> Iterator[None]:
        """What torch.compile has compiled runs as it is written: kernels that it makes do not pass the dispatcher."""
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is None:
            yield
            return
        if dynamo.utils.counters["frames"]["ok"]:
            self.notes.append("the program as it is written was recorded, not what torch.compile made of it")
        with torch.compiler.set_stance("force_eager"):
            yield

    def _line(self) -> Optional[str]:
        return self.places.current().source

    def _escaped(self, way: str) -> None:
        source = None if self._suspended() else self.places.current().source
        note = f"numbers left tensors by .{way}(), unseen: what is computed from them is taken " \
               f"to be constant; at {source}"
        if source and note not in self.notes:
            self.notes.append(note)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """What runs within is not recorded."""
        before, self._of_thread.suspended = self._suspended(), True
        try:
            yield
        finally:
            self._of_thread.suspended = before

    def _suspended(self) -> bool:
        return getattr(self._of_thread, "suspended", False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        kind = seen(types)
        if kind is Seen.WRAPPED:
            return NotImplemented
        if kind is Seen.FAKE or self._suspended() or self._over or func.namespace in _WITHOUT_EFFECT or _on_meta((args, kwargs)):
            return func(*args, **kwargs)
        if func._schema.name in ("_c10d_functional::wait_tensor", "_c10d_functional::wait_tensors"):
            return self._wait_for_tensors(func, args)
        if collectives.communicates(func):
            return self._communicate(func, args, kwargs)
        return self._compute(func, args, kwargs)

    # Operators that compute.

    def _compute(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        schema = func._schema
        if schema.name in _OTHER_MEMORY + _WRAPPERS or torch.Tag.inplace_view in func.tags:
            return func(*args, **kwargs)
        place = self.places.current()
        passed = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if schema.name == "aten::lift_fresh" and self._numbers_into_tensor(args[0], place):
            return func(*args, **kwargs)
        for tensor in passed:
            self._wait_for_native(self.memory.storage(tensor, True))
        entry = self._encoded_call(func, args, kwargs)
        written = _written(schema, args, kwargs) + _running_statistics(schema, args, kwargs)
        entry_writes = [self._view(tensor, True) for tensor in written]
        state = _generator_state(kwargs) if is_random(func) else None
        result = func(*args, **kwargs)
        if state is not None:
            if is_fresh(func, args, entry) and isinstance(result, torch.Tensor) and self._drawn(func, args, kwargs, state, result, written, place):
                return result
            self.generators[len(self.operators)] = state
        results = tree_leaves(result)
        self._sized_by_data(func, args, result)
        if _on_meta(result) or (schema.name not in _TO_PYTHON and not written
                                and not any(isinstance(r, torch.Tensor) for r in results)):
            return result
        shared = {tensor.untyped_storage()._cdata for tensor in passed}
        if func.namespace == "aten" and not written and results and all(
                isinstance(r, torch.Tensor) and r.untyped_storage()._cdata in shared
                for r in results):
            return result  # a view
        entry_writes += [self._view(t, False) for t in _writes_unannounced(func, result)]
        if schema.name in _TO_PYTHON:
            if isinstance(result, complex):
                raise RecordingError(f"a complex number leaves a tensor at {place.source}, which cannot be recorded: take "
                                     "the real and the imaginary part by .real.item() and .imag.item()")
            entry["item"] = self.items.leave(result, args[0] if len(passed) == 1 else None)
            self.item_values.append(result)
            entry["out"] = [number(result)]
        else:
            entry["out"] = [self._result(each) for each in
                            (result if isinstance(result, (tuple, list)) else
                             [] if result is None else [result])]
            with self.suspended():
                chosen = chosen_indices(func, passed, results)
                self.sketches.add(len(self.operators), entry, result)
            if chosen:
                entry["values"] = chosen
        if entry_writes:
            entry["writes"] = entry_writes
        self._append(entry, place)
        return result

    def _sized_by_data(self, func: Any, args: Any, result: Any) -> None:
        """What data decide and no operator of the log does: truth values, and sizes, which programs count by."""
        name = func._schema.name.partition("::")[2]
        if torch.Tag.data_dependent_output in func.tags and func._schema.name not in _TO_PYTHON and \
                isinstance(result, (bool, int, float)):
            self.items.by_data("decision", name, result)
        if torch.Tag.dynamic_output_shape not in func.tags or (name.startswith("index") and not any(
                isinstance(leaf, torch.Tensor) and leaf.dtype in (torch.bool, torch.uint8) for leaf in tree_leaves(args[1:]))):
            return
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.dim():
                self.items.by_data("conversion", name, leaf.shape[0])

    def _drawn(self, func: Any, args: Any, kwargs: Dict[str, Any], state: torch.Tensor, result: torch.Tensor,
               written: Sequence[torch.Tensor], place: Place) -> bool:
        """Records a copy of an input instead of the operator that drew it; whether it has."""
        with self.suspended():
            drawn = self.draws.drawn(func, args, kwargs, state, result, place.module, place.source)
        if drawn is None:
            return False
        given, made = {"tensor": self._view(drawn.tensor, True)}, {"tensor": self._view(result, bool(written))}
        entry: Dict[str, Any] = {"op": "aten.copy_.default", "args": [made, given], "out": [made], "writes": [made["tensor"]]} if written \
            else {"op": "aten.clone.default", "args": [given], "out": [made]}
        with self.suspended():
            self.sketches.add(len(self.operators), entry, result)
        self._append(entry, place)
        return True

    def _numbers_into_tensor(self, made: torch.Tensor, place: Place) -> bool:
        """`torch.tensor` of numbers that came from tensors is no constant; whether it is of such."""
        if made.dtype is torch.bool or self.memory.known(made):
            return False
        origins = self.items.elements(made.numel())
        if origins is None:
            return False
        kwargs = {"dtype": {"dtype": dtype_name(made.dtype)}}
        if len(origins) == 1:
            self._append({"op": "aten.full.default", "args": [list(made.shape), origins[0]], "kwargs": kwargs,
                          "out": [{"tensor": self._view(made, False)}]}, place)
            return True
        pieces = []
        for origin in origins:
            pieces.append({"tensor": self._view(torch.empty((), dtype=made.dtype), False)})
            self._append({"op": "aten.full.default", "args": [[], origin], "kwargs": kwargs, "out": [pieces[-1]]}, place)
        self._append({"op": "aten.stack.default", "args": [pieces], "out": [{"tensor": self._view(made.view(-1), False)}]}, place)
        return True

    def _encoded_call(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
        types = {argument.name: str(argument.type) for argument in func._schema.arguments}
        names = list(types)
        self.items.begin_operator(f"{func._schema.name.replace('::', '.')}.{func._overloadname}")
        entry: Dict[str, Any] = {"op": f"{func._schema.name.replace('::', '.')}"
                                       f".{func._overloadname}"}
        if args:
            entry["args"] = [self._value(arg, names[index] if types[names[index]] in _TAKES_NUMBERS else None)
                             for index, arg in enumerate(args)]
        named = {key: self._value(arg, key if types[key] in _TAKES_NUMBERS else None) for key, arg in kwargs.items()}
        for argument in func._schema.arguments[len(args):]:
            if argument.name not in kwargs and argument.has_default_value() and types[argument.name] in _TAKES_NUMBERS:
                passed = self.items.of_default(argument.name, argument.default_value)
                if passed is not None:
                    named[argument.name] = passed
        if named:
            entry["kwargs"] = named
        return entry

    def _view(self, tensor: torch.Tensor, existing: bool) -> int:
        return self.memory.view(tensor, existing)

    def _result(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [self._result(each) for each in value]
        return {"tensor": self._view(value, False)} if isinstance(value, torch.Tensor) \
            else self._value(value, None)

    def _value(self, value: Any, takes_numbers: Optional[str]) -> Any:
        """As the format has it; numbers of an argument that takes some, with its name, come with their origin."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, torch.Tensor):
            return {"tensor": self._view(value, True)}
        if isinstance(value, (int, float)):
            return self.items.encoded(value, takes_numbers) if takes_numbers else number(value)
        if isinstance(value, (tuple, list)):
            return [self._value(each, takes_numbers) for each in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, complex):
            return {"complex": [number(value.real), number(value.imag)]}
        return {"other": str(value)}

    def _append(self, entry: Dict[str, Any], place: Place) -> None:
        if place.source:
            entry["source"] = self.strings.number(place.source)
        if place.module:
            entry["module"] = self.strings.number(place.module)
        entry["phase"] = self.strings.number(place.phase)
        self.operators.append(entry)

    # Communication.

    def _communicate(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        place = self.places.current()
        for tensor in tree_leaves((args, kwargs)):
            if isinstance(tensor, torch.Tensor):
                self._wait_for_native(self.memory.storage(tensor, True))
        before = [leaf.clone() for leaf in _read_by(func, args, kwargs)]
        result = func(*args, **kwargs)
        call = collectives.read(func, args, kwargs, result)
        self.calls.saw(call.ranks)
        handle = _handle(result)
        if len(call.ranks) > 2 and any(exchange.reduce for exchange in call.exchanges):
            if handle is not None:
                handle.wait()
                self._ended[id(handle)] = handle
            else:
                for exchange in call.exchanges:
                    torch.ops._c10d_functional.wait_tensor(exchange.outputs[0])
            own = collectives.reduced_in_order(call, _regrouped(call, before))
            self.calls.saw(call.ranks, own)
        numbers = [self._append_exchange(func, call, exchange, place)
                   for exchange in call.exchanges]
        if not call.asynchronous:
            return result
        if handle is not None:
            self._by_work[id(handle)] = (handle, numbers)
        for exchange, work in zip(call.exchanges, numbers):
            for tensor in exchange.outputs:
                storage = self.memory.storage(tensor, False)
                if handle is None:
                    self._by_storage.setdefault(storage, []).append(work)
                elif place.native:
                    self._native.setdefault(storage, []).append(work)
        return result

    def _append_exchange(self, func: Any, call: collectives.Call, exchange: collectives.Exchange,
                         place: Place) -> int:
        functional = func.namespace == "_c10d_functional"
        entry: Dict[str, Any] = {
            "op": func._schema.name.replace("::", ".") + "." + func._overloadname,
            "collective": exchange.collective, "group": self.groups.number(call.ranks),
            "in": [self._view(tensor, True) for tensor in exchange.inputs],
            "out": [self._view(tensor, not functional) for tensor in exchange.outputs]}
        for key in ("reduce", "root", "peer", "tag", "in_splits", "out_splits"):
            value = getattr(exchange, key)
            if value is not None:
                entry[key] = value
        work = self._works
        if call.asynchronous:
            entry["work"] = work
            self._works += 1
        self._append(entry, place)
        return work

    def _wait_for_tensors(self, func: Any, args: Any) -> Any:
        tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
        with self.suspended():
            result = func(*args)
        for tensor in tensors:
            for work in self._by_storage.pop(self.memory.storage(tensor, True), []):
                self.operators.append({"wait": work})
        return result

    def _wait_for_native(self, storage: int) -> None:
        """The autograd engine's own communication (of DistributedDataParallel's reducer) is waited
        for in C++: before its results are used for the first time."""
        for work in self._native.pop(storage, []):
            self.operators.append({"wait": work})
            note = ("waits of collectives that C++ started during the backward pass are put where "
                    "their memory is used first")
            if note not in self.notes:
                self.notes.append(note)

    @contextmanager
    def _waits(self) -> Iterator[None]:
        """`Work.wait` is recorded, and what it runs is not: gloo ends some collectives there. Who takes
        the future of a collective waits for it there and then, so that what is chained to it runs
        here and is recorded."""
        # Some kinds of handles have methods of their own.
        plain = {(kind, name): kind.__dict__[name] for kind in (dist.Work, *dist.Work.__subclasses__())
                 for name in ("wait", "synchronize", "get_future") if name in kind.__dict__}
        recorder = self

        def waiting(kind: Any, name: str) -> Any:
            wait = plain.get((kind, "wait"), plain[dist.Work, "wait"])

            def method(work: Any, *args: Any, **kwargs: Any) -> Any:
                with recorder.suspended():
                    if id(work) in recorder._ended:
                        result = True  # gloo would write its own result again
                    else:
                        result = wait(work, *args, **kwargs) if name != "get_future" else wait(work)
                recorder._waited(work)
                return plain[kind, name](work) if name == "get_future" else result
            return method

        for kind, name in plain:
            setattr(kind, name, waiting(kind, name))
        try:
            yield
        finally:
            for (kind, name), method in plain.items():
                setattr(kind, name, method)

    def _waited(self, work: Any) -> None:
        _, numbers = self._by_work.pop(id(work), (None, []))
        for each in numbers:
            self.operators.append({"wait": each})
            for works in self._native.values():
                if each in works:
                    works.remove(each)


def _on_meta(value: Any) -> bool:
    """Shapes without values: a framework's reasoning about shapes, nothing of the program's."""
    return any(is_fake(leaf) for leaf in tree_leaves(value))


def _generator_state(kwargs: Dict[str, Any]) -> torch.Tensor:
    generator = kwargs.get("generator")
    return generator.get_state() if isinstance(generator, torch.Generator) else torch.get_rng_state()


def _written(schema: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    """The tensors that are written according to the schema."""
    tensors: List[torch.Tensor] = []
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        tensors += [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return tensors


def _read_by(func: Any, args: Any, kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    """Tensors whose contents a reduction reads, in the order of its exchanges."""
    named = collectives.arguments(func, args, kwargs)
    for name in ("input_tensor", "input_tensors", "inputs", "input", "tensors"):
        if name in named:
            return [leaf for leaf in tree_leaves(named[name]) if isinstance(leaf, torch.Tensor)]
    return []


def _regrouped(call: collectives.Call, flat: List[torch.Tensor]) -> List[List[torch.Tensor]]:
    remaining = iter(flat)
    return [[next(remaining) for _ in exchange.inputs] for exchange in call.exchanges]


def _handle(result: Any) -> Any:
    """The handle among what an operator of communication returned."""
    for each in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(each, torch.ScriptObject):
            return dist.Work.unbox(each)
    return None
