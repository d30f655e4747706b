"""What a user says about names, parts and reductions, over what the framework says: overrides.

    {"*.qkv.weight": {"dim": 0, "axis": "tp", "pieces": 3},
     "stage.*":      {"rename": "model.*"},
     "loss":         {"reduce": "avg", "over": "dp"}}

A pattern is the name of a parameter, buffer, input or output on the ranks; `*` stands for any text. docs/torch.md
explains the keys. Overrides are about the ranks: the single-process program is what it is."""
from __future__ import annotations

import difflib
import json
import os
import re
from dataclasses import dataclass, field
from typing import (Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple,
                    Union)

import torch
import torch.distributed as dist

from planproof.errors import RecordingError
from planproof.torch.relations import Output, Part, Rename, local
from planproof.torch.trace_file import Path

#: Axes of the mesh with their sizes, outermost first.
Axes = Sequence[Tuple[str, int]]
Shape = Tuple[int, ...]
#: As it is given: a file, or what would be in it.
Given = Union[Path, Mapping[str, Mapping[str, Any]], "Overrides", None]

_KEYS = ("dim", "axis", "pieces", "cuts", "whole", "rename", "reduce", "over")
#: More names are counted, not listed.
_LISTED = 3


class Cut(NamedTuple):
    """One dimension is cut over axes of the mesh; `pieces`: each of so many equal pieces is."""

    dim: int
    axes: Tuple[str, ...]
    pieces: int = 1


@dataclass(frozen=True)
class Entry:
    """What is said of the names that a pattern matches."""

    pattern: str
    cuts: Optional[Tuple[Cut, ...]] = None  # of the whole: none
    rename: Optional[str] = None
    reduce: Optional[str] = None
    over: Tuple[str, ...] = ()

    def matched(self, name: str) -> Optional[Sequence[str]]:
        """The texts that `*` stands for, or None."""
        expression = "(.*)".join(map(re.escape, self.pattern.split("*")))
        found = re.fullmatch(expression, name, re.DOTALL)
        return found.groups() if found else None


@dataclass(frozen=True)
class Overrides:
    """All entries of a file, in its order; `label` is the file's name."""

    entries: Tuple[Entry, ...] = ()
    label: str = "overrides"

    @classmethod
    def read(cls, given: Given) -> Overrides:
        """From a JSON file, or its content. Raises RecordingError if it says something else."""
        if given is None or isinstance(given, Overrides):
            return given or cls()
        label, content = "overrides", given
        if not isinstance(given, Mapping):
            label = os.path.basename(os.fspath(given))
            try:
                with open(given, encoding="utf-8") as file:
                    content = json.load(file, object_pairs_hook=_once)
            except (OSError, ValueError) as error:
                raise RecordingError(f"{os.fspath(given)}: {error}") from None
        if not isinstance(content, Mapping):
            raise RecordingError(f"{label}: an object of patterns is expected")
        return cls(tuple(_entry(pattern, value, f'{label}: "{pattern}"')
                         for pattern, value in content.items()), label)


def _once(pairs: Sequence[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f'"{next(name for name in names if names.count(name) > 1)}" is there twice')
    return found


def _entry(pattern: str, value: Any, where: str) -> Entry:
    def wrong(what: str) -> RecordingError:
        return RecordingError(f"{where}: {what}")

    if not isinstance(value, Mapping) or not value:
        raise wrong('an object is expected, such as {"dim": 0, "axis": "tp"}')
    for key in value:
        if key not in _KEYS:
            raise wrong(f'unknown key "{key}"; known are {", ".join(_KEYS)}')
    if sum(key in value for key in ("dim", "cuts", "whole")) > 1:
        raise wrong("one of dim, cuts and whole says which part it is")
    if ("axis" in value or "pieces" in value) and "dim" not in value:
        raise wrong("axis and pieces belong to a dim")
    if ("reduce" in value) != ("over" in value):
        raise wrong("reduce and over belong together")
    cuts: Optional[Tuple[Cut, ...]] = None
    if "dim" in value:
        cuts = (_cut({key: value[key] for key in ("dim", "axis", "pieces") if key in value}, wrong),)
    elif "cuts" in value:
        listed = value["cuts"]
        if not isinstance(listed, (list, tuple)) or not listed:
            raise wrong("cuts is a list of objects with dim and axis")
        cuts = tuple(_cut(each, wrong) for each in listed)
        if len({cut.dim for cut in cuts}) < len(cuts):
            raise wrong("two cuts of one dimension; its axis can be a list, outermost first")
    elif "whole" in value:
        if value["whole"] is not True:
            raise wrong("whole is true, or left out")
        cuts = ()
    rename, reduce = value.get("rename"), value.get("reduce")
    if rename is not None and (not isinstance(rename, str) or
                               rename.count("*") > pattern.count("*")):
        raise wrong("rename is a name with at most so many * as the pattern has")
    if reduce not in (None, "sum", "avg"):
        raise wrong('reduce is "sum" or "avg"')
    return Entry(pattern, cuts, rename, reduce, _names(value["over"], wrong) if reduce else ())


def _cut(value: Any, wrong: Any) -> Cut:
    if not isinstance(value, Mapping) or not {"dim", "axis"} <= set(value) <= {"dim", "axis", "pieces"}:
        raise wrong("a cut has a dim, an axis, and pieces if they are more than one")
    dim, pieces = value["dim"], value.get("pieces", 1)
    if type(dim) is not int or dim < 0 or type(pieces) is not int or pieces < 1:
        raise wrong("dim is a number from 0, pieces one from 1")
    return Cut(dim, _names(value["axis"], wrong), pieces)


def _names(value: Any, wrong: Any) -> Tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names or \
            not all(isinstance(name, str) for name in names):
        raise wrong("an axis is a name of the mesh's axes, or a list of them, outermost first")
    return tuple(names)


@dataclass
class _Use:
    """What became of an entry on this rank."""

    names: Set[str] = field(default_factory=set)
    against: Set[str] = field(default_factory=set)  # names of which metadata say something else


#: An entry's number, and which of "part", "rename", "reduce" it says.
_Aspect = Tuple[int, str]


class Overriding:
    """Overrides as they apply to one rank's recording. All ranks of the job ask the same in the same order: sizes
    of parts come from what the others hold."""

    def __init__(self, overrides: Overrides, axes: Axes) -> None:
        world = dist.get_world_size() if dist.is_initialized() else 1
        self.overrides = overrides if world > 1 else Overrides()
        self._axes, self._uses = axes, {aspect: _Use() for aspect in _aspects(self.overrides)}
        self._met: Set[str] = set()
        if any(entry.over or entry.cuts for entry in self.overrides.entries):
            size = 1
            for _, extent in axes:
                size *= extent
            if size != world:
                raise RecordingError(f"{self.overrides.label}: the axes {dict(axes)} are of {size} "
                                     f"ranks, and there are {world}")

    def rename(self, plain: Optional[Rename], counted: bool = True) -> Optional[Rename]:
        """Names in the single-process program: as an entry says, else as `plain` does. `counted`: they are of
        parameters and buffers, and have been matched."""
        if not any(entry.rename is not None for entry in self.overrides.entries):
            return plain

        def find(name: str) -> str:
            found = self._last(name, "rename")
            if found is None:
                return plain(name) if plain else name
            number, entry = found
            if counted:
                self._uses[number, "rename"].names.add(name)
            texts = iter(entry.matched(name) or ())
            return re.sub(r"\*", lambda _: next(texts), entry.rename or "")

        return find

    def parts(self, tensors: Mapping[str, Tuple[str, torch.Tensor]]) -> Dict[str, Part]:
        """The parts of those tensors of which an entry says something. `tensors` has, by the name of the rank, the
        name in the single-process program and what this rank holds."""
        self._met.update(tensors)
        chosen = {name: found for name in tensors for found in [self._last(name, "part")] if found}
        if not any(entry.cuts is not None for entry in self.overrides.entries):
            return {}
        held = _of_all_ranks({tensors[name][0]: tuple(map(int, local(tensors[name][1]).shape))
                              for name in chosen})
        parts = {}
        for name, (number, entry) in chosen.items():
            self._uses[number, "part"].names.add(name)
            known = tensors[name][0]
            parts[name] = self._part(entry, name, [shapes.get(known) for shapes in held])
        return parts

    def _part(self, entry: Entry, name: str, held: Sequence[Optional[Shape]]) -> Part:
        def wrong(what: str) -> RecordingError:
            return RecordingError(f'{self.overrides.label}: "{entry.pattern}": {name}{what}')

        own = held[dist.get_rank()]
        assert own is not None
        of, place = list(own), [[[0, size]] for size in own]
        for dim, names, pieces in entry.cuts or ():
            if dim >= len(own):
                raise wrong(f" has {len(own)} dimensions, none of number {dim}")
            lengths: List[int] = []
            position = 0
            for member in self.along(names, entry.pattern):
                shape = held[member]
                if shape is None or len(shape) != len(own):
                    raise wrong(f" is not on rank {member}, over which it is said to be cut")
                if shape[dim] % pieces:
                    raise wrong(f" has {shape[dim]} elements along dimension {dim} of rank {member}, "
                                f"not {pieces} equal pieces")
                if member < dist.get_rank():
                    position = len(lengths) + 1
                lengths.append(shape[dim] // pieces)
            total, before = sum(lengths), sum(lengths[:position])
            of[dim] = total * pieces
            place[dim] = [[piece * total + before, lengths[position]] for piece in range(pieces)
                          if lengths[position]]
        return Part(tuple(of), place)

    def against(self, name: str, part: Part, said: Optional[Part]) -> None:
        """Keeps that an entry's part is not the one that metadata `said`."""
        found = self._last(name, "part")
        if found and said is not None and said.encoded() != part.encoded():
            self._uses[found[0], "part"].against.add(name)

    def reduced(self, name: str, value: Output) -> Output:
        """An output, or the gradient of a parameter of this name, with the reduction that is said."""
        self._met.add(name)
        found = self._last(name, "reduce")
        if found is None:
            return value
        number, entry = found
        use = self._uses[number, "reduce"]
        use.names.add(name)
        ranks = self.along(entry.over, entry.pattern)
        if value.reduce is not None and (value.reduce, list(value.ranks or ranks)) != \
                (entry.reduce, ranks):
            use.against.add(name)
        return Output(value.held, entry.reduce, ranks)

    def along(self, names: Sequence[str], pattern: str) -> List[int]:
        """The ranks that differ from this one in their places along these axes only, in the order of ranks."""
        for name in names:
            if name not in dict(self._axes):
                known = ", ".join(dict(self._axes)) or "none"
                raise RecordingError(f'{self.overrides.label}: "{pattern}": no axis of the mesh is '
                                     f'named "{name}"; there are {known}')
        found, stride = [dist.get_rank()], 1
        for axis, size in reversed(self._axes):
            if axis in names:
                own = dist.get_rank() // stride % size
                found = [rank + (place - own) * stride for place in range(size) for rank in found]
            stride *= size
        return sorted(found)

    def notes(self) -> List[str]:
        """What was said instead of metadata, for the verdict. Raises RecordingError if a pattern matches nothing on
        any rank."""
        if not self.overrides.entries:
            return []
        everywhere = _of_all_ranks((self._uses, self._met))
        notes = []
        for aspect in self._uses:
            names = {name for uses, _ in everywhere for name in uses[aspect].names}
            against = {name for uses, _ in everywhere for name in uses[aspect].against}
            number, word = aspect
            entry = self.overrides.entries[number]
            if not names:
                known = sorted({name for _, met in everywhere for name in met})
                raise RecordingError(f"{self.overrides.label}: {self._unmatched(entry, word, known)}")
            other = f", against what metadata say of {len(against)}" if against else ""
            notes.append(f"{self.overrides.label}: {_said(entry, word)}{other}: {_some(sorted(names))}")
        return notes

    def _unmatched(self, entry: Entry, word: str, known: Sequence[str]) -> str:
        matched = any(entry.matched(name) is not None for name in known)
        if matched and word != "reduce":
            return f'"{entry.pattern}" says nothing that a later pattern does not say otherwise'
        kind = "output or gradient" if word == "reduce" else "parameter, buffer, input or output"
        near = difflib.get_close_matches(entry.pattern, known, _LISTED, 0.4) or known[:_LISTED]
        return f'no {kind} matches "{entry.pattern}"; there are {", ".join(near)}, ...'

    def _last(self, name: str, word: str) -> Optional[Tuple[int, Entry]]:
        for number, entry in reversed(list(enumerate(self.overrides.entries))):
            if (number, word) in self._uses and entry.matched(name) is not None:
                return number, entry
        return None


def _aspects(overrides: Overrides) -> Iterator[_Aspect]:
    for number, entry in enumerate(overrides.entries):
        for word, value in (("part", entry.cuts), ("rename", entry.rename), ("reduce", entry.reduce)):
            if value is not None:
                yield number, word


def _said(entry: Entry, word: str) -> str:
    if word == "rename":
        return f"{entry.pattern} is {entry.rename} in the single-process program"
    if word == "reduce":
        return f"{entry.pattern} is the {entry.reduce} over {' and '.join(entry.over)} of what ranks have"
    if not entry.cuts:
        return f"{entry.pattern} is whole on each rank"
    cuts = [f"along dimension {cut.dim} over {' and '.join(cut.axes)}" +
            (f" in {cut.pieces} pieces" if cut.pieces > 1 else "") for cut in entry.cuts]
    return f"{entry.pattern} is cut {', '.join(cuts)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _of_all_ranks(value: Any) -> List[Any]:
    """What each rank has."""
    found: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found
