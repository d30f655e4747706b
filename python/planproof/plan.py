"""What every device runs: mesh, microbatches, programs."""
from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from planproof import signatures
from planproof.encoding import Layout
from planproof.errors import PlanError
from planproof.program import Program
from planproof.relations import suggestion
from planproof.source import Source, caller
from planproof.specification import Specification
from planproof.tensors import Tensor


class Plan:
    """A plan for a specification: one file with both roles."""

    def __init__(self, specification: Optional[Specification] = None,
                 mesh: Optional[Mapping[str, int]] = None, *, microbatches: int = 1,
                 note: Optional[str] = None):
        self.specification = specification
        self.mesh = dict(mesh or {})
        self.microbatches = microbatches
        self.note = note
        self.programs: List[Program] = []
        self.declarations: List[str] = []
        self.declared = dict(specification._declared) if specification else {}
        self.head: Dict[str, Any] = {}  # what else stands in the role of a file that was read
        self.source = caller()
        self._references: List[Tuple[str, Source]] = []

    def program(self, name: Optional[str] = None, devices: Optional[Mapping[str, int]] = None, *,
                note: Optional[str] = None) -> Program:
        """Adds a program; `devices` are the fixed coordinates of its group: `{"pp": 0}`."""
        added = Program(self, name, devices, note, len(self.programs))
        if any(program.name == added.name for program in self.programs):
            raise PlanError(f'two programs are named "{added.name}"', caller())
        self.programs.append(added)
        return added

    def declare(self, declarations: str) -> None:
        """Declares operators that the plan alone uses (docs/operator-language.md)."""
        self.declared.update(signatures.declared(declarations))
        self.declarations += declarations.strip("\n").splitlines()

    def is_parameter(self, name: str, inputs: Mapping[str, Any]) -> bool:
        """Whether an input of a program is a parameter of the specification."""
        if name not in inputs or self.specification is None:
            return False
        return self.specification.is_parameter(inputs[name].get("of", name))

    # Collectives between programs

    def all_reduce(self, shards: Sequence[Tensor], **keys: Any) -> Tuple[Tensor, ...]:
        """An all_reduce between programs, issued in each of them; gives every program's result."""
        return tuple(program.all_reduce(shards, **keys) for program in self._of(shards))

    def all_gather(self, shards: Sequence[Tensor], **keys: Any) -> Tuple[Tensor, ...]:
        """An all_gather between programs."""
        return tuple(program.all_gather(shards, **keys) for program in self._of(shards))

    def reduce_scatter(self, shards: Sequence[Tensor], **keys: Any) -> Tuple[Tensor, ...]:
        """A reduce_scatter between programs."""
        return tuple(program.reduce_scatter(shards, **keys) for program in self._of(shards))

    def all_to_all(self, shards: Sequence[Tensor], **keys: Any) -> Tuple[Tensor, ...]:
        """An all_to_all between programs."""
        return tuple(program.all_to_all(shards, **keys) for program in self._of(shards))

    def _of(self, shards: Sequence[Tensor]) -> List[Program]:
        programs = [shard.graph if isinstance(shard, Tensor) else None for shard in shards]
        if any(program not in self.programs for program in programs):
            raise PlanError("a collective between programs lists tensors of this plan's programs",
                            caller())
        return list(dict.fromkeys(programs))  # type: ignore[arg-type]

    def refer(self, place: str, source: Source) -> None:
        """Notes that "program:tensor" is read; it may be defined later."""
        self._references.append((place, source))

    # The content

    def content(self) -> Dict[str, Any]:
        """The plan as the plan format has it (docs/plan-format.md)."""
        self._check_references()
        content: Dict[str, Any] = {"planproof": 1}
        if self.note:
            content["note"] = self.note
        if self.specification is not None:
            if self.specification.declarations:
                content["operators"] = self.specification.declarations
            content["specification"] = self.specification.content()
        plan: Dict[str, Any] = {**self.head, "mesh": self.mesh}
        if self.microbatches != 1:
            plan["microbatches"] = self.microbatches
        if self.declarations:
            plan["declarations"] = self.declarations
        plan["programs"] = [program.content() for program in self.programs]
        content["plan"] = plan
        return content

    def _check_references(self) -> None:
        programs = {program.name: program for program in self.programs}
        for place, source in self._references:
            name, tensor = place.split(":", 1)
            if name not in programs:
                raise PlanError(f'no program is named "{name}"{suggestion(name, programs)}', source)
            if not programs[name]._knows(tensor):
                near = suggestion(tensor, programs[name]._defined)
                raise PlanError(f'"{tensor}" is not defined in program "{name}"{near}', source)

    def sources(self) -> Dict[Tuple[Any, ...], Source]:
        """Where each part of the content was said, by its position."""
        found: Dict[Tuple[Any, ...], Source] = {(): self.source, ("plan",): self.source}
        if self.specification is not None:
            found[("specification",)] = self.specification._source
            for at, source in self.specification._sources.items():
                single = at[0] == "gradients" and len(self.specification._gradients) == 1
                found[("specification", *at[:1 if single else None])] = source
        for index, program in enumerate(self.programs):
            for at, source in program._sources.items():
                found[("plan", "programs", index, *at)] = source
        return found

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the plan as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(Layout(self.content()).text)
