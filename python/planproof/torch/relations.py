"""Which part of which tensor of the single-process program a rank's tensor is.

Relations come from what the framework says about its tensors: placements of DTensors (FSDP2, tensor parallelism),
and otherwise the shape: a plain tensor is the whole."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from planproof.errors import RecordingError
from planproof.torch import fsdp1

Segments = List[List[int]]  # [start, length], one after another


@dataclass(frozen=True)
class Part:
    """A part of a whole of shape `of`: per dimension the segments that it consists of, or `flat`: a
    piece of the whole's elements in row-major order."""

    of: Tuple[int, ...]
    place: Optional[Sequence[Segments]] = None
    flat: Optional[Tuple[int, int]] = None

    def shape(self) -> Tuple[int, ...]:
        """The shape of a tensor that holds the part."""
        if self.flat is not None:
            return (self.flat[1],)
        if self.place is None:
            return self.of
        return tuple(sum(length for _, length in segments) for segments in self.place)

    def encoded(self) -> Dict[str, Any]:
        """As the format has it: nothing if it is the whole."""
        if self.flat is not None:
            return {"of": list(self.of), "flat": list(self.flat)}
        if self.place is None or all(segments == [[0, size]]
                                     for segments, size in zip(self.place, self.of)):
            return {}
        return {"of": list(self.of), "place": [list(segments) for segments in self.place]}

    def of_whole(self, whole: torch.Tensor) -> torch.Tensor:
        """The part, cut from a tensor that is the whole."""
        if self.flat is not None:
            return whole.reshape(-1)[self.flat[0]:self.flat[0] + self.flat[1]]
        for dim, segments in enumerate(self.place or []):
            whole = torch.cat([whole.narrow(dim, start, length) for start, length in segments], dim)
        return whole


@dataclass(frozen=True)
class Held:
    """A tensor of this rank with its part."""

    tensor: torch.Tensor
    part: Part


@dataclass(frozen=True)
class Output:
    """A result of the step: what the rank has, and how the reference's comes from the ranks'."""

    held: Held
    reduce: Optional[str] = None
    ranks: Optional[Sequence[int]] = None


@dataclass(frozen=True)
class Input:
    """Data of the batch; integers can have a domain [low, high)."""

    held: Held
    domain: Optional[Tuple[int, int]] = None


def segments_of(indices: Sequence[int]) -> Segments:
    """Ascending runs of indices as [start, length]."""
    segments: Segments = []
    for index in indices:
        if segments and sum(segments[-1]) == index:
            segments[-1][1] += 1
        else:
            segments.append([int(index), 1])
    return segments


def part_of_dtensor(tensor: DTensor) -> Tuple[Part, List[int]]:
    """The part that this rank holds, and the dimensions of the mesh over which it is a summand."""
    mesh, of = tensor.device_mesh, tuple(map(int, tensor.shape))
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise RecordingError("a DTensor on a mesh that this rank is not in")
    indices = [torch.arange(size) for size in of]
    partial = []
    for axis, placement in enumerate(tensor.placements):
        if isinstance(placement, Partial):
            if type(placement) is not Partial or placement.reduce_op not in ("sum", "avg"):
                raise RecordingError(f"a result is {placement} over an axis of the mesh; return "
                                     "its full_tensor()")
            partial.append(axis)
        elif not isinstance(placement, Replicate):
            # Shard and _StridedShard: what torch makes of a dimension is asked of torch.
            dim = placement.dim
            pieces, _ = placement._split_tensor(indices[dim], mesh.size(axis), with_padding=False) \
                if dim == 0 else _on_first(placement)._split_tensor(
                    indices[dim], mesh.size(axis), with_padding=False)
            indices[dim] = pieces[coordinate[axis]]
    return Part(of, [segments_of(index.tolist()) for index in indices]), partial


def _on_first(placement: Any) -> Any:
    """The same placement of dimension 0."""
    if type(placement) is Shard:
        return Shard(0)
    return type(placement)(0, split_factor=placement.split_factor)


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a tensor, if it is a DTensor: itself otherwise."""
    if not isinstance(tensor, DTensor):
        return tensor
    own: torch.Tensor = getattr(tensor._local_tensor, "elem", tensor._local_tensor)
    return own


def held(tensor: torch.Tensor, part: Optional[Part] = None) -> Held:
    """A tensor as this rank holds it; `part` for plain tensors that are not the whole, and instead of a
    DTensor's placements. A flat piece of all elements is the whole, in the whole's shape."""
    if isinstance(tensor, DTensor) and part is None:
        found, partial = part_of_dtensor(tensor)
        if partial:
            raise RecordingError("a DTensor of partial sums where a value is expected")
        return Held(local(tensor), found)
    tensor = local(tensor)
    found = part or Part(tuple(map(int, tensor.shape)))
    if found.shape() != tuple(tensor.shape):
        raise RecordingError(f"a part of shape {list(found.shape())} is held by a tensor of shape "
                             f"{list(tensor.shape)}")
    if found.flat is not None and found.flat == (0, math.prod(found.of)) and tensor.is_contiguous():
        return Held(tensor.detach().view(found.of), Part(found.of))
    return Held(tensor, found)


def shard(tensor: torch.Tensor, dim: int, index: int, count: int) -> Held:
    """`tensor` is part `index` of `count` equal ones along `dim`."""
    size = int(tensor.shape[dim])
    of = [int(extent) for extent in tensor.shape]
    of[dim] *= count
    place = [[[0, extent]] for extent in of]
    place[dim] = [[index * size, size]]
    return Held(tensor, Part(tuple(of), place))


def part(tensor: torch.Tensor, of: Sequence[int], place: Sequence[Segments]) -> Held:
    """`tensor` consists of these segments, per dimension, of a whole of shape `of`."""
    return held(tensor, Part(tuple(of), place))


def bounded(data: Any, low: int, high: int) -> Input:
    """Integers of which low <= value < high is known, such as token ids."""
    return Input(data if isinstance(data, Held) else held(data), (low, high))


def reduced(tensor: Any, kind: str, ranks: Optional[Sequence[int]] = None) -> Output:
    """The reference's value is the "sum" or "avg" of the ranks' (of all, if none are named)."""
    if kind not in ("sum", "avg"):
        raise RecordingError(f'outputs are reduced by "sum" or "avg", not by "{kind}"')
    return Output(tensor if isinstance(tensor, Held) else held(tensor), kind, ranks)


def output(value: Any) -> Output:
    """What a step returned. A DTensor of summands is reduced over the axis of its mesh."""
    if isinstance(value, Output):
        return value
    if isinstance(value, Held):
        return Output(value)
    if not isinstance(value, DTensor):
        return Output(held(value))
    found, partial = part_of_dtensor(value)
    if not partial:
        return Output(held(value))
    if len(partial) > 1:
        raise RecordingError("a result is a sum over several axes of the mesh")
    ranks = dist.get_process_group_ranks(value.device_mesh.get_group(partial[0]))
    return Output(Held(value._local_tensor, found), value.placements[partial[0]].reduce_op, ranks)


@dataclass(frozen=True)
class Parameter:
    """A parameter or buffer under its name in the single-process program; `key` is its name here. `chosen`: the
    part is what the user said, whatever metadata say."""

    name: str
    role: str
    object: torch.Tensor
    part: Optional[Part] = None
    key: str = ""
    chosen: bool = False
    #: Which of the rank's models has it.
    model: int = 0

    def held(self) -> Held:
        """What this rank holds of it at this moment."""
        return held(self.object, self.part)

    def lies(self) -> Part:
        """Where tensors lie that have the shape of its tensor here, such as its gradient."""
        return self.part if self.part is not None else self.held().part


Rename = Callable[[str], str]
#: Gives the part of a plain parameter, or None if it is the whole.
Placement = Callable[[str, torch.Tensor], Optional[Part]]


#: Names under which FSDP 1, checkpointing and torch.compile hold the module that they wrap.
_WRAPPED = frozenset(["_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"])


def without_wrappers(name: str) -> str:
    """The name that a parameter or module has where nothing is wrapped."""
    return ".".join(word for word in name.split(".") if word not in _WRAPPED)


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The user's module within DistributedDataParallel, torch's or Megatron's."""
    while type(model).__name__ == "DistributedDataParallel":
        inner = model.module
        assert isinstance(inner, torch.nn.Module)
        model = inner
    return model


def parameters(model: torch.nn.Module, rename: Optional[Rename],
               placement: Optional[Placement]) -> Iterator[Parameter]:
    """Parameters and persistent buffers of real numbers. Other buffers are constants of the program. A tied
    parameter has the first of its names. `placement` gets names as they are here."""
    model = unwrapped(model)
    name, pieces = _renamed(rename), fsdp1.pieces(model) if isinstance(model, torch.nn.Module) else {}
    for key, value in model.named_parameters():
        said = placement(key, value) if placement and not isinstance(value, DTensor) else None
        if said is None and id(value) in pieces:
            of, flat = pieces[id(value)]
            if not flat[1]:
                continue  # another rank has all of it
            said = Part(of, flat=flat)
        yield Parameter(name(key), "parameter", value, said, key)
    temporary = {id(module._buffers[key]) for module in model.modules()
                 for key in module._non_persistent_buffers_set}
    for key, value in model.named_buffers():
        if id(value) not in temporary and value.is_floating_point():
            yield Parameter(name(key), "buffer", value, None, key)


def _renamed(rename: Optional[Rename]) -> Rename:
    """A name here as the single-process program's: what the program says, without names of wrappers."""
    return lambda key: without_wrappers(rename(key) if rename else key)


def module_names(model: torch.nn.Module, rename: Optional[Rename]) -> Dict[int, str]:
    """Names of modules by identity."""
    name = _renamed(rename)
    return {id(module): name(key) for key, module in unwrapped(model).named_modules() if key}


def states(optimizer: torch.optim.Optimizer, known: Sequence[Parameter]) \
        -> Iterator[Tuple[str, Parameter, Held]]:
    """The optimizer's tensors: name, parameter, and what this rank holds. They lie as their parameters do, if
    they have their shapes, and where their piece of the parameter lies if the optimizer owns a piece."""
    by_identity = {id(each.object): each for each in known}
    for key, content in optimizer.state.items():
        owner = by_identity.get(id(key))
        if owner is not None:
            lies: Optional[Part] = owner.lies()
        else:
            owner, lies = _owner(key, known)
        if owner is None or lies is None or not isinstance(content, Mapping):
            continue
        for word, value in content.items():
            if not isinstance(value, torch.Tensor):
                continue
            same = (owner.chosen or not isinstance(value, DTensor)) and \
                local(value).shape == local(key).shape
            yield (f"{owner.name}.{word}", owner,
                   held(value, lies if same and value.dim() else None))


def _owner(piece: torch.Tensor, known: Sequence[Parameter]) \
        -> Tuple[Optional[Parameter], Optional[Part]]:
    """The parameter of whose memory an optimizer's tensor is a piece, and which piece: distributed optimizers cut flat buffers."""
    for each in known:
        tensor = each.object
        if isinstance(tensor, DTensor) or each.role != "parameter" or \
                tensor.untyped_storage()._cdata != piece.untyped_storage()._cdata:
            continue
        start = int(piece.storage_offset() - tensor.storage_offset())
        if 0 <= start and start + piece.numel() <= tensor.numel():
            if each.part is not None and each.part.encoded():
                raise RecordingError(f"{each.name} is cut by tensor parallelism and by its "
                                     "optimizer; such relations cannot be written")
            return each, Part(tuple(map(int, tensor.shape)), flat=(start, piece.numel()))
    return None, None
