"""`record`: one iteration of a program as a trace, with the values that a replay compares with."""
from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import numpy
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from planproof.errors import RecordingError
from planproof.torch.beginning import Beginning, Key, key_of, key_of_state, parameters_of
from planproof.torch.carried_state import Candidate, candidates, declared, without_owner
from planproof.torch.counted import in_log
from planproof.torch.draws import Draws, Said
from planproof.torch.environment import read_environment
from planproof.torch.memory import Memory, content, dtype_name
from planproof.torch.overrides import Given, Overrides, Overriding
from planproof.torch.places import Places
from planproof.torch.recorder import Recorder
from planproof.torch.relations import (Held, Input, Output, Parameter, Placement, Rename, held,
                                       module_names, output, states)
from planproof.torch.sketches import LARGEST_IN_FULL, sketch_of_part
from planproof.torch.trace_file import VERSION, Path, load, save, save_values, values_path

Models = Union[torch.nn.Module, Sequence[torch.nn.Module], None]
Optimizers = Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer], None]
Axes = Union[DeviceMesh, Sequence[Tuple[str, int]], None]


def record(step: Callable[[], Optional[Mapping[str, Any]]], path: Path, *, model: Models = None,
           optimizer: Optimizers = None, inputs: Optional[Mapping[str, Any]] = None,
           axes: Axes = None, rename: Optional[Rename] = None,
           placement: Optional[Placement] = None, hidden: Iterable[str] = (),
           notes: Sequence[str] = (), overrides: Given = None, draws: Said = None,
           beginning: Optional[Beginning] = None, made_up: bool = False) -> Optional[Mapping[str, Any]]:
    """Runs `step` once and writes what this rank executed to `path`, and the values beside it.

    `step` returns its outputs by name: tensors, or `reduced(...)`. `inputs` names the data that it
    reads: a tensor that is the whole on every rank, a DTensor, or `shard(...)`, `part(...)`,
    `bounded(...)`. Several models or optimizers are those of one rank's stages. `rename` turns a
    name of a module or parameter into that of the single-process program, `placement(name, tensor)`
    says which part a plain parameter is if it is not the whole. `axes` names the mesh;
    packages that are `hidden` give no source lines, those of their callers are shown instead.
    `overrides`, a JSON file or its content, wins over all of these and over metadata
    (`planproof.torch.overrides`); all ranks then talk to each other before and after the step.
    `draws` says how random numbers of the ranks are related (`planproof.torch.draws`); the reference, beside `path`, is then recorded first.
    `beginning`: what the rank held before its first iteration, if this is not the first. `made_up`: what the rank receives is,
    so no values are written.
    Returns what `step` returned."""
    settings: Dict[str, Any] = dict(model=model, optimizer=optimizer, inputs=inputs, axes=axes, rename=rename, placement=placement, hidden=hidden,
                    overrides=overrides, draws=draws, beginning=beginning, made_up=made_up)
    prepared = _prepared(step, path, **settings)
    with read_environment(prepared.beginning.environment), prepared.running(_axes(axes), notes, made_up) as outputs:
        outputs.update(step() or {})
    return outputs


@contextmanager
def recording(path: Path, *, notes: Sequence[str] = (), **settings: Any) -> Iterator[Dict[str, Any]]:
    """Records what runs in a block as one iteration:

        with planproof.torch.recording(path, model=model, optimizer=optimizer, inputs=inputs) as outputs:
            ...
            outputs["loss"] = loss

    `settings` are those of `record`. Nothing is written if the block raises an error."""
    frame = sys._getframe(2)  # of the block; contextlib's is between
    prepared = _prepared(frame, path, **settings)
    with read_environment(prepared.beginning.environment), prepared.running(_axes(settings.get("axes")), notes, False) as outputs:
        yield outputs


def _prepared(program: Any, path: Path, *, model: Models = None, optimizer: Optimizers = None, inputs: Optional[Mapping[str, Any]] = None,
              axes: Axes = None, rename: Optional[Rename] = None, placement: Optional[Placement] = None, hidden: Iterable[str] = (),
              overrides: Given = None, draws: Said = None, beginning: Optional[Beginning] = None, made_up: bool = False) -> _Recording:
    named = _axes(axes)
    overriding = Overriding(Overrides.read(overrides), [(name, size) for name, size in named])
    models, optimizers = listed(model), listed(optimizer)
    if beginning is None:
        beginning = Beginning(models, optimizers, inputs or {}, placement)
        if any(each.state for each in optimizers):
            beginning.forget_what_is_trained()
    return _Recording(program, path, models, optimizers, inputs or {}, rename, placement, hidden, overriding, beginning,
                      _draws(draws, named, path, made_up))


def listed(value: Any) -> List[Any]:
    """None, one or several as a list."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


# Optimizers' states that are not negative: counters, averages and sums of squares, and largest magnitudes.
NOT_NEGATIVE = ("step", "exp_avg_sq", "max_exp_avg_sq", "square_avg", "acc_delta", "sum", "exp_inf",
                "row_var", "col_var", "variance")


class _Recording:
    """One iteration while it is recorded. `program`, the step or the frame of the block that is one, is what carried state is reached from."""

    def __init__(self, program: Any, path: Path,
                 models: List[torch.nn.Module], optimizers: List[torch.optim.Optimizer],
                 inputs: Mapping[str, Any], rename: Optional[Rename],
                 placement: Optional[Placement], hidden: Iterable[str],
                 overriding: Overriding, beginning: Beginning, draws: Draws) -> None:
        self.beginning = beginning
        self.program, self.path, self.optimizers = program, path, optimizers
        self.memory = Memory()
        self.overriding, plain = overriding, rename
        rename = overriding.rename(plain)
        self.data = {name: value if isinstance(value, Input) else Input(
            value if isinstance(value, Held) else held(value)) for name, value in inputs.items()}
        self.parameters = self._overridden(parameters_of(models, rename, placement))
        modules: Dict[int, str] = {}
        for model in models:
            modules.update(module_names(model, overriding.rename(plain, counted=False)))
        names = {id(each.object): each.name for each in self.parameters}
        self.recorder = Recorder(self.memory, Places(modules, names, hidden), draws)
        self.inputs: List[Dict[str, Any]] = []
        self.results: List[Dict[str, Any]] = []
        self.values: Dict[str, numpy.ndarray] = {}

    def _overridden(self, known: List[Parameter]) -> List[Parameter]:
        """The parameters, and in `data` the inputs, with the parts that the user says."""
        tensors = {each.key: (each.name, each.object) for each in known}
        tensors.update((name, (name, value.held.tensor)) for name, value in self.data.items())
        parts = self.overriding.parts(tensors)
        for name in parts.keys() & self.data.keys():
            said = self.data[name]
            self.overriding.against(name, parts[name], said.held.part)
            self.data[name] = replace(said, held=held(said.held.tensor, parts[name]))
        for each in known:
            if each.key in parts:
                said_part = each.held().part if isinstance(each.object, DTensor) else each.part
                self.overriding.against(each.key, parts[each.key], said_part)
        return [replace(each, part=parts[each.key], chosen=True) if each.key in parts else each
                for each in known]

    @contextmanager
    def running(self, axes: List[List[Any]], notes: Sequence[str], made_up: bool) -> Iterator[Dict[str, Any]]:
        """Records what runs within, and writes the trace at its end; outputs go into what is yielded."""
        outputs: Dict[str, Any] = {}
        self._name_inputs()
        found = candidates(self.program, self.parameters, self.optimizers)
        self.values["generator"] = torch.get_rng_state().numpy()
        self.beginning.earlier.later = self.recorder.items
        self.values["default_dtype"] = numpy.frombuffer(dtype_name(torch.get_default_dtype()).encode(), dtype=numpy.uint8)
        with self.recorder.recording():
            yield outputs
        self._name_draws()
        self._name_results(outputs)
        self._name_carried(found)
        distributed = dist.is_initialized()
        named = [self.memory.held(entry["tensor"]) for entry in self.inputs]
        self.memory.forget_unread(named, self.recorder.operators,
                                  [entry["tensor"] for entry in self.results])
        # An input without elements may lie in memory that only fills up what is sent: constants.
        named = [self.memory.held(entry["tensor"]) for entry in self.inputs if self.memory.has_elements(entry["tensor"])]
        trace = {
            "planproof_torch_trace": VERSION, "torch": torch.__version__,
            "rank": dist.get_rank() if distributed else 0,
            "world": dist.get_world_size() if distributed else 1,
            "axes": axes, "groups": self.recorder.groups.ranks,
            "strings": self.recorder.strings.texts, "storages": self.memory.storages(named),
            "tensors": self.memory.tensors(), "inputs": self.inputs,
            "operators": self.recorder.operators, "results": self.results,
            "notes": [*notes, *self.overriding.notes(), *self.recorder.notes,
                      *self._without_gradients(), *self._unread(),
                      *without_owner(self.optimizers, self._naming())]}
        if self.recorder.items.numbers:
            trace["numbers"] = [{**each, "source": self.recorder.strings.number(each["source"])}
                                for each in self.recorder.items.numbers]
            trace["strings"] = self.recorder.strings.texts
        if self.beginning.environment:
            trace["environment"] = dict(sorted(self.beginning.environment.items()))
        if not made_up:
            for storage, data in self.memory.initial.items():
                self.values[f"storage_{storage}"] = data.numpy()
            for entry in self.inputs:  # what has no bytes, too
                self.values.setdefault(f"storage_{self.memory.held(entry['tensor'])}", numpy.zeros(0, numpy.uint8))
            self.values["items"] = numpy.array(self.recorder.item_values, dtype=numpy.float64)
            self.values["collectives"] = numpy.array(in_log(trace), dtype=numpy.int64)
            self.values.update(self.recorder.sketches.arrays())
            trace["values"] = save_values(self.values, self.path)
        save(trace, self.path)

    def _without_gradients(self) -> List[str]:
        """That nothing is said of gradients, if there are none any more when the step has ended."""
        trained = any(each.object.requires_grad for each in self.parameters)
        if self.optimizers and trained and not any(
                entry["kind"] == "gradient" for entry in self.results):
            return ["no parameter has a gradient when the step returns, so gradients are compared only by "
                    "what is computed from them"]
        return []

    def _unread(self) -> List[str]:
        """Inputs that the step does not read: it reads another tensor, which is then a constant."""
        inputs = {entry["name"]: entry["tensor"] for entry in self.inputs if entry["role"] == "input"}
        read = self.memory.read(inputs.values(), self.recorder.operators,
                                [entry["tensor"] for entry in self.results])
        return [f"the step does not read the input {name}: is it another tensor that it reads?"
                for name, tensor in inputs.items() if self.memory.held(tensor) not in read]

    def _naming(self) -> Callable[[torch.Tensor], bool]:
        """What says whether an input or a result shows a tensor's memory."""
        named = {self.memory.held(entry["tensor"]) for entry in [*self.inputs, *self.results]}
        return lambda tensor: self.memory.number_of(tensor) in named

    # What holds a value before the step.

    def _name_inputs(self) -> None:
        names = set()
        for each in self.parameters:
            if each.name in names:
                raise RecordingError(f"two parameters are named {each.name}")
            names.add(each.name)
            self._name_input(each.role, each.name, each.held(), key_of(each))
        made_later = []
        for optimizer in self.optimizers:
            for name, owner, value in states(optimizer, self.parameters):
                more = {"domain": [0, None]} if name.rpartition(".")[2] in NOT_NEGATIVE else {}
                key = key_of_state(owner, name)
                if self.beginning.made_later(key):
                    made_later.append(len(self.inputs))
                self._name_input("state", name, value, key, parameter=owner.name, **more)
        if made_later:
            self.values["made_later"] = numpy.array(made_later, numpy.int64)
        for name, data in self.data.items():
            more = {"domain": list(data.domain)} if data.domain else {}
            self._name_input("input", name, data.held, ("input", name), **more)

    def _name_input(self, role: str, name: str, value: Held, key: Key, **more: Any) -> None:
        before = self.beginning.held(key, value.tensor)
        if before is not None and before.nbytes <= LARGEST_IN_FULL:
            self.values[f"held_{len(self.inputs)}"] = content(before).numpy()
        elif before is not None:
            self.values[f"held_sketch_{len(self.inputs)}"] = sketch_of_part(name, before, value.part)
        self.inputs.append({"role": role, "name": name,
                            "tensor": self.memory.view(value.tensor.detach(), True),
                            **value.part.encoded(), **more})

    def _name_draws(self) -> None:
        for each in self.recorder.draws.all():
            more = {"domain": each.domain} if each.domain else {}
            self.inputs.append({"role": "input", "name": each.name, "tensor": self.memory.view(each.tensor, True),
                                **each.part.encoded(), **more})
        for position, state in self.recorder.generators.items():
            self.values[f"generator_{position}"] = state.numpy()
        self.recorder.notes += self.recorder.draws.notes

    # What an earlier iteration left, and nobody named.

    def _carried_over(self) -> Set[int]:
        """Unnamed storages of real numbers of which an element is read before it is written, and that the step then writes or
        the iteration before made."""
        named = {self.memory.held(entry["tensor"]) for entry in self.inputs}
        unnamed = set(self.memory.initial) - named
        results = [entry["tensor"] for entry in self.results]
        read = self.memory.read_of(unnamed, self.recorder.operators, results)
        written = self.memory.replaced(read, self.recorder.operators)
        before = self.beginning.written
        return {storage for storage in read if self.memory.is_real(storage) and (
            storage in written or (before is not None and before.wrote_storage(self.memory.kept(storage))))}

    def _name_carried(self, found: Sequence[Candidate]) -> None:
        """Declares carried state from which results are computed; of other such state is only said that it is there."""
        carried = self._carried_over()
        written = self.memory.replaced(carried, self.recorder.operators)
        feeding = self.memory.feeding(carried, self.recorder.operators, [entry["tensor"] for entry in self.results])
        # What is overwritten with itself is no state: DistributedDataParallel sends tables of constants each time.
        feeding -= {storage for storage in written if self.memory.unchanged(storage)}
        taken = {entry["name"] for entry in self.inputs}
        chosen = declared(found, lambda tensor: self.memory.number_of(tensor) in feeding, taken)
        for each in chosen:
            more: Dict[str, Any] = {"parameter": each.owner.name} if each.owner is not None else {}
            if each.name.rpartition(".")[2] in NOT_NEGATIVE:
                more["domain"] = [0, None]
            self._name_input("state", each.name, each.held, ("carried", each.name), **more)
            carried.discard(self.memory.number_of(each.held.tensor))
        after = {each.name: each for each in candidates(self.program, self.parameters, self.optimizers)} if chosen else {}
        for each in chosen:
            now = after.get(each.name)
            if now is not None and self.memory.known(now.held.tensor):
                self._name_result("updated", each.name, Held(now.held.tensor, each.held.part))
        others = [each.name for each in declared(
            found, lambda tensor: self.memory.number_of(tensor) in carried - feeding, taken)]
        if others:
            self.recorder.notes.append("what the step carries over to the next iteration and computes no result from is not compared: "
                                       + ", ".join(others[:8]) + (", ..." if len(others) > 8 else ""))
        self.memory.carried = carried

    # What the step is for.

    def _name_results(self, outputs: Mapping[str, Any]) -> None:
        held_before = {entry["name"] for entry in self.inputs}
        for each in self.parameters:
            self._name_result("updated", each.name, each.held())
            if each.object.grad is not None:
                self._name_gradient(each)
        for optimizer in self.optimizers:
            for name, _, state in states(optimizer, self.parameters):
                if name in held_before:
                    self._name_result("updated", name, state)
                else:  # the first iteration makes it
                    self._name_result("output", f"new {name}", state)
        for name, value in self._outputs(outputs).items():
            self._name_output("output", name, self.overriding.reduced(name, value))

    def _name_gradient(self, parameter: Parameter) -> None:
        gradient = parameter.object.grad
        assert gradient is not None
        if isinstance(gradient, DTensor) and not parameter.chosen:
            found = output(gradient)
        else:
            found = Output(held(gradient, parameter.lies()))
        self._name_output("gradient", parameter.name,
                          self.overriding.reduced(parameter.key, found))

    def _outputs(self, outputs: Mapping[str, Any]) -> Dict[str, Output]:
        """What the step returned, with the parts that the user says."""
        said = {name: output(value) for name, value in outputs.items()}
        parts = self.overriding.parts({name: (name, value.held.tensor)
                                       for name, value in said.items()})
        for name, part in parts.items():
            self.overriding.against(name, part, said[name].held.part)
            said[name] = replace(said[name], held=held(said[name].held.tensor, part))
        return said

    def _name_output(self, kind: str, name: str, value: Output) -> None:
        more: Dict[str, Any] = {}
        if value.reduce:
            more["reduce"] = value.reduce
            ranks = value.ranks if value.ranks is not None else range(dist.get_world_size())
            more["group"] = self.recorder.groups.number(list(ranks))
        self._name_result(kind, name, value.held, **more)

    def _name_result(self, kind: str, name: str, value: Held, **more: Any) -> None:
        tensor = value.tensor.detach()
        if not self.memory.known(tensor):
            raise RecordingError(f"{kind} {name} is not in memory that the recorded operators "
                                 "wrote or the step began with")
        self.values[f"result_{len(self.results)}"] = content(tensor).numpy()
        self.results.append({"kind": kind, "name": name,
                             "tensor": self.memory.view(tensor, False),
                             **value.part.encoded(), **more})


def _draws(said: Said, axes: Sequence[Sequence[Any]], path: Path, made_up: bool) -> Draws:
    """Of a rank, with what the reference beside it has drawn; of the reference, which is rank -1."""
    directory, name = os.path.split(os.fspath(path))
    reference = os.path.join(directory, "reference.trace")
    distributed = dist.is_initialized() and dist.get_world_size() > 1
    known = None
    if distributed and not made_up and name != "reference.trace" and os.path.exists(reference):
        known = load(reference), dict(numpy.load(values_path(reference)))
    return Draws(said, [(name, size) for name, size in axes], dist.get_rank() if distributed else -1, known)


def _axes(axes: Axes) -> List[List[Any]]:
    if isinstance(axes, DeviceMesh):
        if axes.mesh.flatten().tolist() != list(range(axes.size())):
            return []  # coordinates are not those of ranks in row-major order
        names = axes.mesh_dim_names or [f"axis{index}" for index in range(axes.ndim)]
        return [[name, int(size)] for name, size in zip(names, axes.mesh.shape)]
    return [[name, int(size)] for name, size in axes or ()]
