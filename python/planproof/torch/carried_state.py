"""State that nobody named: memory that an iteration leaves for the next one, outside of models and of optimizers that were passed.

Such memory is no constant of the program. Where it is certain what it is, it is declared as state, under a name that it has in the
single-process program, too: states of an optimizer that the step reaches, float32 masters of parameters, tensors in
the program's own dictionaries and attributes. The rest is marked in the trace as carried over."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from planproof.errors import RecordingError
from planproof.torch.reachable import names_of, reached_from
from planproof.torch.relations import Held, Parameter, Part, held, local, states
from planproof.torch.subclasses import Seen, is_fake, seen

class Written(TorchDispatchMode):
    """While it is active, the memory is remembered that operators make or write."""

    def __init__(self) -> None:
        super().__init__()
        self._found: Dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        kind = seen(types)
        if kind is not Seen.PLAIN:
            return NotImplemented if kind is Seen.WRAPPED else func(*args, **kwargs)
        passed = {leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if _has_memory(leaf)}
        result = func(*args, **kwargs)
        # A result in the memory of an operand is a view, unless the operator writes it.
        touched = [leaf for leaf in tree_leaves(result) if _has_memory(leaf) and leaf.untyped_storage()._cdata not in passed]
        for argument, value in [*zip(func._schema.arguments, args),
                                *((each, kwargs[each.name]) for each in func._schema.arguments if each.name in kwargs)]:
            if argument.alias_info is not None and argument.alias_info.is_write:
                # Of a buffer that is overwritten in part the rest may be a constant.
                touched += [leaf for leaf in tree_leaves(value) if _has_memory(leaf)
                            and leaf.nbytes == leaf.untyped_storage().nbytes()]
        for tensor in touched:
            if _has_memory(tensor):
                storage = tensor.untyped_storage()
                self._found[storage._cdata] = StorageWeakRef(storage)
        return result

    def wrote_storage(self, storage: torch.UntypedStorage) -> bool:
        """Whether this memory is among it."""
        found = self._found.get(storage._cdata)
        return found is not None and not found.expired()


def _has_memory(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not is_fake(value) and value.layout == torch.strided


@dataclass
class Candidate:
    """A tensor that may be state, with the name that it has if it is."""

    name: str
    held: Held
    owner: Optional[Parameter] = None


def candidates(step: Any, known: Sequence[Parameter], optimizers: Sequence[torch.optim.Optimizer]) -> List[Candidate]:
    """Tensors that `step` reaches and that are not named by models and `optimizers`, the likeliest names first."""
    reached = reached_from(step, names_of(known))
    found: List[Candidate] = []
    described = [inner for each in optimizers for inner in _stands_for(each)]
    others = [each for each in reached.optimizers if all(each is not passed for passed in (*optimizers, *described))]
    for optimizer in others:
        found += [Candidate(name, value, owner) for name, owner, value in states(optimizer, known)]
    for optimizer in [*optimizers, *others]:
        found += _of_masters(optimizer, known)
    left_out = {id(leaf) for each in described for leaf in tree_leaves([*each.state.values()])}
    found += _by_path({path: tensor for path, tensor in reached.tensors.items() if id(tensor) not in left_out}, known)
    return found


def _stands_for(optimizer: Any) -> Iterator[torch.optim.Optimizer]:
    """The optimizers of which a shim says what is state: what it leaves out is none."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        yield from (value for value in getattr(optimizer, "__dict__", {}).values() if isinstance(value, torch.optim.Optimizer))


def _of_masters(optimizer: torch.optim.Optimizer, known: Sequence[Parameter]) -> Iterator[Candidate]:
    """Masters, and the optimizer's states of these."""
    named = {id(each.object) for each in known}
    for group in getattr(optimizer, "param_groups", ()):  # shims stand for optimizers
        for master in group["params"]:
            if id(master) in named:
                continue
            owner = owner_of_master(master, known)
            if owner is None:
                continue
            part = owner.lies()
            yield Candidate(f"{owner.name}.master", held(local(master), part), owner)
            for word, value in optimizer.state.get(master, {}).items():
                if isinstance(value, torch.Tensor):
                    same = value.dim() > 0 and value.shape == master.shape
                    yield Candidate(f"{owner.name}.{word}", held(local(value), part if same else None), owner)


def owner_of_master(master: torch.Tensor, known: Sequence[Parameter]) -> Optional[Parameter]:
    """The parameter of which this is a copy of higher precision, if it is one of exactly one."""
    content = local(master).detach()
    fitting = []
    for each in known:
        tensor = local(each.object).detach()
        if each.role == "parameter" and tensor.shape == content.shape and tensor.dtype.itemsize < content.dtype.itemsize and \
                tensor.untyped_storage()._cdata != content.untyped_storage()._cdata and \
                torch.equal(content.to(tensor.dtype), tensor):
            fitting.append(each)
    return fitting[0] if len(fitting) == 1 else None


def _by_path(tensors: Mapping[str, torch.Tensor], known: Sequence[Parameter]) -> Iterator[Candidate]:
    """By the names of the program. What is called like a parameter, and has its shape, lies as this does."""
    own = {id(each.object) for each in known}
    for path, tensor in tensors.items():
        if id(tensor) in own or local(tensor).layout != torch.strided or not tensor.is_floating_point():
            continue
        like = [each for each in known if path.endswith((f"[{each.key!r}]", f"[{each.name!r}]", f"[{each.name}]",
                                                         f"[{('module.' + each.key)!r}]", f"{each.name}.grad"))
                and local(each.object).shape == local(tensor).shape]
        part: Optional[Part] = like[0].lies() if like and not hasattr(tensor, "placements") else None
        name = path.replace(f"[{('module.' + like[0].key)!r}]", f"[{like[0].name!r}]").replace(
            f"[{like[0].key!r}]", f"[{like[0].name!r}]") if like else path
        try:
            yield Candidate(name, held(tensor, part), like[0] if like else None)
        except RecordingError:
            continue  # summands, which have no part


def declared(found: Sequence[Candidate], carried: Callable[[torch.Tensor], bool], taken: Set[str]) -> List[Candidate]:
    """Of the candidates those whose memory is carried over, the first for each piece of memory and for each name."""
    chosen: List[Candidate] = []
    places: Set[Tuple[int, int]] = set()
    for each in found:
        tensor = each.held.tensor
        place = tensor.untyped_storage()._cdata, int(tensor.storage_offset())
        if tensor.is_floating_point() and each.name not in taken and place not in places and carried(tensor):
            chosen.append(each)
            taken.add(each.name)
            places.add(place)
    return chosen


def without_owner(optimizers: Sequence[torch.optim.Optimizer], named: Callable[[torch.Tensor], bool]) -> List[str]:
    """What is said of an optimizer's tensors that have no name, a line for each optimizer."""
    lines = []
    for optimizer in optimizers:
        lost = [key for key, content in optimizer.state.items() if isinstance(content, Mapping) and isinstance(key, torch.Tensor)
                and local(key).numel() and any(isinstance(value, torch.Tensor) and not named(local(value)) for value in content.values())]
        if lost:
            shapes = ", ".join(str(list(key.shape)) for key in lost[:3])
            lines.append(f"{type(optimizer).__name__} has states of {len(lost)} tensors that are no parameters of the model (shapes "
                         f"{shapes}{', ...' if len(lost) > 3 else ''}), which are not compared")
    return lines
