"""Random numbers that a step draws: dropout's masks, noise, positions of masked tokens.

What an operator draws is an input of the trace. Ranks and the single-process program have it in common where their generators
were in the same state, or where the program says how draws of theirs are related:

    Training(..., draws="apart over dp, same over tp")              # of all modules
    Training(..., draws={"layers.*.dropout": "apart over dp", "noise": "apart over cp along 1"})

`apart over AXIS`: what ranks draw along this axis of the mesh are the parts, one after another, of what the single-process program
draws, along the first dimension or the one that is said. `same over AXIS`: they draw the same. A rank then is given the
single-process program's numbers, or its part of them, so that recorded results agree, too."""
from __future__ import annotations

import fnmatch
import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy
import torch

from planproof.errors import RecordingError
from planproof.torch.relations import Part

Said = Union[None, str, Mapping[str, str]]

#: Operators whose results depend on no tensor's elements, with what is known of these results.
_NOT_NEGATIVE = frozenset(["aten::bernoulli_", "aten::bernoulli", "aten::rand", "aten::rand_like", "aten::exponential_", "aten::geometric_",
                           "aten::randperm"])
_FRESH = _NOT_NEGATIVE | {"aten::uniform_", "aten::normal_", "aten::randn", "aten::randn_like", "aten::randint", "aten::randint_like",
                          "aten::random_", "aten::cauchy_", "aten::log_normal_", "aten::normal"}
_CLAUSE = re.compile(r"(apart|same) over (\w+)(?: along (\d+))?")


def is_random(func: Any) -> bool:
    """Whether an operator draws."""
    return torch.Tag.nondeterministic_seeded in func.tags


def is_fresh(func: Any, args: Sequence[Any], call: Mapping[str, Any]) -> bool:
    """Whether what an operator draws depends on its constants and shapes only, by its arguments and by the call as it is written down, where
    numbers have their origin."""
    name, overload = func._schema.name, func._overloadname
    if any(isinstance(each, dict) and "value" in each for each in [*call.get("args", []), *call.get("kwargs", {}).values()]):
        return False  # a number that was computed from tensors
    if name not in _FRESH or "out" in overload or "generator" in overload and not name.startswith("aten::rand"):
        return False
    rest = args[1:] if name.endswith(("_", "_like")) or name == "aten::bernoulli" else args
    if name == "aten::bernoulli" and overload != "p":
        return False
    return not any(isinstance(each, torch.Tensor) for each in rest)


def _distribution(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The operator with its numbers, which ranks must have in common with the single-process program: a mask that keeps half is no mask
    that keeps three quarters."""
    numbers = [each for each in args if isinstance(each, (int, float))]
    named = [f"{name}={each}" for name, each in kwargs.items() if isinstance(each, (int, float)) and name not in ("pin_memory",)]
    return f"{func}({', '.join([*map(repr, numbers), *named])})"


@dataclass
class _Clause:
    """What is said of one axis."""

    apart: bool
    axis: str
    dim: int


def _clauses(text: str) -> List[_Clause]:
    found = []
    for clause in text.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            raise RecordingError(f'draws are said to be "apart over AXIS", "apart over AXIS along DIMENSION" or "same over AXIS", not "{clause.strip()}"')
        found.append(_Clause(match[1] == "apart", match[2], int(match[3] or 0)))
    return found


@dataclass
class Drawn:
    """What was drawn, as an input of the trace."""

    name: str
    #: Its elements, which nothing writes.
    tensor: torch.Tensor
    part: Part
    domain: Optional[List[Optional[int]]]


class Draws:
    """The draws of one iteration. `reference`: the trace of the single-process program and its values, for a rank."""

    def __init__(self, said: Said, axes: Sequence[Tuple[str, int]], rank: int,
                 reference: Optional[Tuple[Mapping[str, Any], Mapping[str, numpy.ndarray]]]) -> None:
        self._said = {"*": said} if isinstance(said, str) else dict(said or {})
        self._axes, self._rank, self._reference = list(axes), rank, reference
        self._by_key: Dict[str, Drawn] = {}
        self._counts: Dict[str, int] = {}
        self.notes: List[str] = []
        for text in self._said.values():
            for clause in _clauses(text):
                if self._axes and clause.axis not in dict(self._axes):
                    raise RecordingError(f'draws="{text}": the mesh has no axis {clause.axis}, it has {", ".join(dict(self._axes))}')

    def all(self) -> List[Drawn]:
        """In the order in which they were drawn."""
        return list(self._by_key.values())

    def drawn(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], state: torch.Tensor, result: torch.Tensor,
              module: Optional[str], source: Optional[str]) -> Optional[Drawn]:
        """What `result` holds, which an operator drew from a generator in this state. `result` then has the numbers of the
        single-process program where it is said how these are related. None if the single-process program draws nothing of the kind, and
        nothing is said."""
        numbers = [each for each in [*args, *kwargs.values()] if not isinstance(each, (torch.Tensor, torch.Generator))]
        key = hashlib.sha256(state.numpy().tobytes() + repr((str(func), list(result.shape), str(result.dtype), numbers)).encode()).hexdigest()
        found = self._by_key.get(key)
        if found is None:
            found = self._named(func, args, kwargs, key, result, module or "the step", source)
            if found is None:
                return None
            self._by_key[key] = found
        if not torch.equal(found.tensor, result):
            result.copy_(found.tensor)
        return found

    def _named(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], key: str, result: torch.Tensor, module: str,
               source: Optional[str]) -> Optional[Drawn]:
        own = result.detach().clone(memory_format=torch.contiguous_format)
        domain: Optional[List[Optional[int]]] = [0, None] if func._schema.name in _NOT_NEGATIVE and result.is_floating_point() else None
        said = [text for pattern, text in self._said.items() if fnmatch.fnmatchcase(module, pattern)]
        whole = tuple(map(int, result.shape))
        if not said:
            name = f"draw {key[:16]}"
            if self._reference is not None and self._values_of(name) is None:
                self.notes.append(f"{func} at {source} draws what the single-process program does not draw, or from a generator in another "
                                  f'state: say how they are related, such as draws={{"{module}": "apart over {(self._axes or [("dp", 0)])[0][0]}"}}')
                return None
            self._note(f"what {func} draws at {source} is what the single-process program draws, since generators are in the same state, as "
                       "they were when this was recorded")
            return Drawn(name, own, Part(whole), domain)
        count = self._counts[module] = self._counts.get(module, 0) + 1
        name = f"draw {count} of {module}: {_distribution(func, args, kwargs)}"
        if self._rank < 0:
            return Drawn(name, own, Part(whole), domain)
        place = self._place(said[-1], whole)
        self._note(f'what {module} draws at {source} is {said[-1]}, as the program says')
        if self._reference is not None:
            values = self._values_of(name)
            if values is None:
                raise RecordingError(f"{func} at {source} is {name}, which the single-process program does not draw: have it draw of the same "
                                     "distribution, in as many microbatches, or draw before the step and name the tensor in inputs=")
            if tuple(values.shape) != place.of or values.dtype != own.dtype:
                raise RecordingError(f'{func} at {source}: the single-process program draws {list(values.shape)} where "{said[-1]}" means '
                                     f"{list(place.of)}")
            own = place.of_whole(values).clone(memory_format=torch.contiguous_format)
        return Drawn(name, own, place, domain)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _place(self, text: str, shape: Tuple[int, ...]) -> Part:
        """Where what this rank draws lies in what the single-process program draws."""
        of = list(shape)
        starts = [0] * len(shape)
        clauses = {each.axis: each for each in _clauses(text)}
        left = self._rank
        coordinates = {}
        for axis, size in reversed(self._axes):
            coordinates[axis], left = left % size, left // size
        for axis, size in self._axes:
            if size > 1 and axis not in clauses:
                raise RecordingError(f'draws="{text}" does not say whether ranks along {axis} draw the same: add "same over {axis}" or '
                                     f'"apart over {axis}"')
        for axis, size in reversed(self._axes):  # the innermost axis cuts what is left by the others
            clause = clauses.get(axis)
            if clause is None or not clause.apart:
                continue
            if clause.dim >= len(shape):
                raise RecordingError(f'draws="{text}": what is drawn has {len(shape)} dimensions')
            starts[clause.dim] += coordinates[axis] * of[clause.dim]
            of[clause.dim] *= size
        return Part(tuple(of), [[[start, length]] for start, length in zip(starts, shape)])

    def _values_of(self, name: str) -> Optional[torch.Tensor]:
        """What the single-process program drew."""
        if self._reference is None:
            return None
        trace, values = self._reference
        for entry in trace["inputs"]:
            if entry["name"] == name:
                storage, dtype, offset, shape, _, *_ = trace["tensors"][entry["tensor"]]
                content = torch.from_numpy(values[f"storage_{storage}"].copy())
                kind = getattr(torch, dtype)
                return content.view(kind)[offset:offset + math.prod(shape)].view(tuple(shape))
        return None
