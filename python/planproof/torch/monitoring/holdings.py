"""What a process holds of the model: parameters and buffers by their names in the single-process program, as the journal's table has them."""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import nn

from planproof.errors import RecordingError
from planproof.torch import fsdp1
from planproof.torch.monitoring.sums import Slot
from planproof.torch.relations import (
    Parameter, Part, Placement, Rename, local, parameters, unwrapped, without_wrappers)

#: Limits of the format.
MOST_TENSORS, MOST_DIMENSIONS = 10 ** 6, 16
#: Tensors that are looked at in a step that is not sampled.
TENSORS_IN_TURN = 16


@dataclass
class Entry:
    """One tensor of the table. `object` is the parameter or buffer, of which `part` is held here."""

    name: str
    object: torch.Tensor
    part: Part
    buffer: bool = False
    shared_with: Optional[int] = None
    optimizers: List[int] = field(default_factory=list)
    replicas: Optional[List[int]] = None
    #: The name here, and the number of the model that has it.
    key: str = ""
    model: int = 0

    def __post_init__(self) -> None:
        self.slot = Slot(self.name, self.part)

    def held(self) -> torch.Tensor:
        """The tensor that this rank holds, now."""
        return local(self.object)

    def encoded(self) -> Dict[str, Any]:
        """As the format has it."""
        own = self.held()
        found: Dict[str, Any] = {"name": self.name, "of": list(self.part.of), "dtype": str(own.dtype)[len("torch."):],
                                 "local": own.numel()}
        found.update((key, value) for key, value in self.part.encoded().items() if key != "of")
        if self.shared_with is not None:
            found["shared_with"] = self.shared_with
        if self.buffer:
            found["buffer"] = True
        else:
            found["trainable"] = bool(self.object.requires_grad)
            found["optimizers"] = self.optimizers
        if self.replicas is not None:
            found["replicas"] = self.replicas
        return found


class Holdings:
    """The table of some models, and of which optimizers have which tensors. Made anew when the models have changed."""

    def __init__(self, models: Sequence[nn.Module], optimizers: Sequence[Any], rename: Optional[Rename],
                 placement: Optional[Placement]) -> None:
        self.not_observed: List[Tuple[str, str]] = []
        self.entries: List[Entry] = []
        #: Parameters of which other ranks have everything: names and shapes.
        self.elsewhere: List[Tuple[str, List[int]]] = []
        for number, model in enumerate(models):
            prefix = f"{number}." if len(models) > 1 else ""
            self._add(number, model, prefix, rename, placement)
        if len(self.entries) > MOST_TENSORS:
            raise RecordingError(f"a journal has at most {MOST_TENSORS} tensors, the model has {len(self.entries)}")
        self.by_identity = {id(entry.object): number for number, entry in reversed(list(enumerate(self.entries)))}
        self._assign(optimizers)
        self.encode()
        #: Numbers of the parameters whose values are facts: each memory once.
        self.parameters = [number for number, entry in enumerate(self.entries)
                           if not entry.buffer and entry.shared_with is None and entry.held().numel()]
        #: Those that no optimizer has.
        self.without_optimizer = [number for number in self.parameters if not self.entries[number].optimizers]

    def encode(self) -> None:
        """The table, as tensors are now."""
        self.encoded = [entry.encoded() for entry in self.entries]
        self._objects = [entry.object for entry in self.entries]
        self._trainable = [each.requires_grad for each in self._objects]
        self._next = 0

    def still_trainable(self, all_of_them: bool) -> bool:
        """Whether the same tensors require gradients as when the table was made: all of them, or the next few in turn."""
        if all_of_them:
            return self._trainable == [each.requires_grad for each in self._objects]
        first, last = self._next, self._next + TENSORS_IN_TURN
        self._next = last if last < len(self._objects) else 0
        return self._trainable[first:last] == [each.requires_grad for each in self._objects[first:last]]

    def bytes_of_parameters(self) -> int:
        return sum(self.entries[number].held().nbytes for number in self.parameters)

    def _add(self, number: int, model: nn.Module, prefix: str, rename: Optional[Rename], placement: Optional[Placement]) -> None:
        known: Dict[Tuple[int, int], int] = {}
        self.elsewhere += _elsewhere(model, prefix, rename)
        replicas = _replicas_of_wrapper(model)
        for each in self._parameters(model, rename, placement):
            try:
                part = each.lies()
            except RecordingError as reason:
                self.not_observed.append((prefix + each.name, str(reason)))
                continue
            if len(part.of) > MOST_DIMENSIONS or part.shape() != tuple(local(each.object).shape):
                self.not_observed.append((prefix + each.name, "its part of the whole is not known"))
                continue
            own = local(each.object)
            memory = (own.data_ptr(), own.numel())
            entry = Entry(prefix + each.name, each.object, part, each.role == "buffer",
                          known.get(memory) if own.numel() else None, replicas=_replicas(each.object) or replicas)
            entry.key, entry.model = each.key, number
            known.setdefault(memory, len(self.entries))
            self.entries.append(entry)

    def _parameters(self, model: nn.Module, rename: Optional[Rename], placement: Optional[Placement]) -> Iterator[Parameter]:
        """Parameters and buffers; of a tied one each further name, too."""
        try:
            found = list(parameters(model, rename, placement))
        except RecordingError as reason:
            self.not_observed.append(("parts of parameters", str(reason)))
            found = [Parameter(without_wrappers(key), "parameter", value, None, key)
                     for key, value in unwrapped(model).named_parameters()]
        yield from found
        by_identity = {id(each.object): each for each in found}
        names = {each.key for each in found}
        inner = unwrapped(model)
        if not isinstance(inner, nn.Module):
            return
        for key, value in inner.named_parameters(remove_duplicate=False):
            first = by_identity.get(id(value))
            if key not in names and first is not None:
                yield Parameter(without_wrappers(rename(key) if rename else key), "parameter", value, first.part, key)

    def _assign(self, optimizers: Sequence[Any]) -> None:
        """Which optimizers have which parameters."""
        for index, optimizer in enumerate(optimizers):
            held = [each for group in optimizer.param_groups for each in group["params"]]
            identities = {id(each) for each in held}
            memory = {_memory(each) for each in held}
            found = False
            if held and not identities & set(self.by_identity):
                self.not_observed.append((f"states of {type(optimizer).__name__}", "they are of other tensors than the model's parameters"))
            for entry in self.entries:
                if not entry.buffer and (id(entry.object) in identities or
                                         entry.held().numel() and _memory(entry.object) in memory):
                    entry.optimizers.append(index)
                    found = True
            if not found and held:
                self.not_observed.append((f"parameters of {type(optimizer).__name__}", "it works on copies of the model's memory"))
                for entry in self.entries:
                    if not entry.buffer and entry.object.requires_grad:
                        entry.optimizers.append(index)


def _elsewhere(model: nn.Module, prefix: str, rename: Optional[Rename]) -> List[Tuple[str, List[int]]]:
    inner = unwrapped(model)
    try:
        pieces = fsdp1.pieces(inner) if isinstance(inner, nn.Module) else {}
    except RecordingError:
        return []
    if not pieces:
        return []
    return [(prefix + without_wrappers(rename(key) if rename else key), list(pieces[id(value)][0]))
            for key, value in inner.named_parameters() if id(value) in pieces and not pieces[id(value)][1][1]]


def _memory(tensor: torch.Tensor) -> int:
    return int(local(tensor).untyped_storage()._cdata)


def _replicas_of_wrapper(model: nn.Module) -> Optional[List[int]]:
    """Ranks that have the same parameters by DistributedDataParallel."""
    group = getattr(model, "process_group", None)
    if isinstance(model, nn.parallel.DistributedDataParallel) and group is not None:
        return sorted(torch.distributed.get_process_group_ranks(group))
    return None


def _replicas(tensor: torch.Tensor) -> Optional[List[int]]:
    """Ranks that hold the same part of a DTensor, by its placements."""
    mesh = getattr(tensor, "device_mesh", None)
    if mesh is None:
        return None
    ranks, coordinate = mesh.mesh, mesh.get_coordinate()
    if coordinate is None:
        return None
    for axis in reversed(range(ranks.dim())):
        if not tensor.placements[axis].is_replicate():  # type: ignore[attr-defined]
            ranks = ranks.select(axis, coordinate[axis])
    return sorted(ranks.reshape(-1).tolist())


#: Attributes under which wrappers have a module that takes their name.
_WRAPPED = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def modules_of(models: Sequence[nn.Module], rename: Optional[Rename]) -> List[Tuple[str, nn.Module]]:
    """Modules by qualified names in the single-process program, without what wraps them; a model itself has none, of several the number."""
    found: List[Tuple[str, nn.Module]] = []
    for number, model in enumerate(models):
        prefix = f"{number}." if len(models) > 1 else ""
        inner = unwrapped(model)
        if isinstance(inner, nn.Module):
            for key, module in inner.named_modules():
                if any(word in module._modules for word in _WRAPPED):
                    continue
                name = without_wrappers(rename(key) if rename and key else key)
                found.append(((prefix + name).rstrip("."), module))
    return found


def class_name(value: Any) -> str:
    """Qualified name of a class."""
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def digest(holdings: Holdings, modules: Sequence[Tuple[str, nn.Module]], optimizers: Sequence[Any]) -> str:
    """SHA-256 of what makes two runs one program."""
    names = [(entry.name, list(entry.part.of)) for entry in holdings.entries if not entry.buffer]
    content = [sorted([*names, *holdings.elsewhere]),
               [[name, class_name(module)] for name, module in modules], [class_name(each) for each in optimizers]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def opened(optimizer: Any) -> List[Tuple[Any, List[Any]]]:
    """The optimizers that an optimizer, a list of them or a wrapper comes to, each with what wraps it."""
    if optimizer is None:
        return []
    if isinstance(optimizer, (list, tuple)):
        return [each for one in optimizer for each in opened(one)]
    found: List[Tuple[Any, List[Any]]] = []
    for inner in _inner(optimizer):
        for each, wrappers in opened(inner):
            if all(each is not other for other, _ in found):
                found.append((each, [optimizer, *wrappers]))
    if found:
        return found
    if not hasattr(optimizer, "param_groups") or not hasattr(optimizer, "step"):
        raise RecordingError(f"{class_name(optimizer)} is no optimizer: it has no param_groups and no step")
    return [(optimizer, [])]


def _inner(optimizer: Any) -> List[Any]:
    chained = getattr(optimizer, "chained_optimizers", None)
    if isinstance(chained, (list, tuple)) and chained:
        return list(chained)
    for key in ("optimizer", "base_optimizer", "_optimizer"):
        inner = getattr(optimizer, key, None)
        if inner is not None and inner is not optimizer and hasattr(inner, "param_groups") and hasattr(inner, "step"):
            return [inner]
    return []
