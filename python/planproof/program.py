"""What the devices of one group run."""
from __future__ import annotations

from contextlib import contextmanager
from typing import (TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple,
                    Union)

from planproof.differentiation import Differentiation
from planproof.errors import PlanError
from planproof.graph import Out
from planproof.relations import Relation, encoded, suggestion
from planproof.schedules import Step
from planproof.source import Source, caller
from planproof.tensors import Tensor, TensorLike

if TYPE_CHECKING:
    from planproof.plan import Plan


class Program(Differentiation):
    """A program of a plan: inputs, operators in order, and what belongs to them."""

    def __init__(self, plan: Plan, name: Optional[str], devices: Optional[Mapping[str, int]],
                 note: Optional[str], index: int):
        super().__init__()
        self.plan = plan
        self.axes = (*plan.mesh, "microbatch")
        self.name = name or f"program{index}"
        self.title = f'program "{self.name}"'
        self._head: Dict[str, Any] = {"name": name} if name else {}
        if note:
            self._head["note"] = note
        if devices is not None:
            self._axes(list(devices))
            self._head["devices"] = {axis: self._attribute(at) for axis, at in devices.items()}
        self._declared = plan.declared
        self._listed = False  # inputs are names without relations
        self._maps: Dict[str, Dict[str, Any]] = {}  # buffers, lineage, outputs
        self._schedule: Optional[List[Any]] = None
        self._exceptions: List[Dict[str, Any]] = []
        self._phase: Optional[str] = None  # begins at the next operator
        self._outside: Optional[str] = None  # the phase that was left by a with statement
        self._recorded: Optional[List[Dict[str, Any]]] = None  # operators of an exception

    # Inputs

    def input(self, name: TensorLike, relation: Relation = None) -> Tensor:
        """A tensor that is there at the start: a slice of one that nothing computes."""
        source = caller()
        word = str(name)
        known = self.plan.specification
        if known is not None and "of" not in (relation or {}) and not known._knows(word):
            near = suggestion(word, known._defined)
            raise PlanError(f'the specification has no tensor "{word}"{near}', source)
        if relation is None and known is not None:
            relation = known.prescribed(word)
        self._listed = False
        slices = self._value(relation, lambda value: encoded(value, self.axes))
        tensor = self._define(word, source)
        self._inputs[word] = slices
        self._sources[("inputs", word)] = source
        return tensor

    def inputs(self, relations: Optional[Mapping[Any, Relation]] = None,
               **more: Relation) -> Tuple[Tensor, ...]:
        """Several inputs: `x, w = program.inputs(x={0: "dp"}, w={})`."""
        return tuple(self.input(name, relation)
                     for name, relation in {**(relations or {}), **more}.items())

    # Operators

    def move(self, tensor: TensorLike, *, out: Out = None, channel: Optional[str] = None,
             async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """Receives a tensor of another program (or "program:tensor", which may be defined later);
        by default under the same name."""
        place = self._place(tensor)
        content: Dict[str, Any] = {"op": "move", "in": place}
        content["out"] = self._names(place.split(":", 1)[1] if out is None else out, "move", 1)
        if channel is not None:
            content["channel"] = channel
        if async_ is not None:
            content["async"] = async_
        received: Tensor = self._add(content, None, note)
        return received

    def wait(self, *handles: str) -> None:
        """Waits for collectives and moves that were started (`async_`)."""
        source = caller()
        content = {"op": "wait", "in": handles[0] if len(handles) == 1 else list(handles),
                   "source": str(source)}
        self._record(content, source)

    def _place(self, shard: TensorLike) -> str:
        if isinstance(shard, Tensor):
            if not isinstance(shard.graph, Program) or shard.graph.plan is not self.plan:
                raise self._fail(f'"{shard.name}" is a tensor of {shard.graph.title}, which is no '
                                 "program of this plan")
            return f"{shard.graph.name}:{shard.name}"
        if ":" not in shard:
            raise self._fail(f'a tensor of another program is "program:tensor", not "{shard}"')
        self.plan.refer(shard, caller())
        return shard

    def _foreign(self, value: Tensor) -> str:
        if isinstance(value.graph, Program):
            return super()._foreign(value) + ": receive it with move(), or use a collective"
        return super()._foreign(value) + ': list it as input(), or use its name'

    def _record(self, content: Dict[str, Any], source: Source) -> None:
        if self._recorded is not None:
            at = ("exceptions", len(self._exceptions), "with", len(self._recorded))
            self._sources[at] = source
            self._recorded.append(content)
            return
        if self._outside is not None and self._phase is None:
            raise PlanError(f'this operator comes after phase "{self._outside}" and belongs to '
                            "none: begin another phase", source)
        if self._phase is not None:
            content["phase"], self._phase, self._outside = self._phase, None, None
        super()._record(content, source)

    def _is_parameter(self, name: str) -> bool:
        return self.plan.is_parameter(name, self._inputs)

    # Order of execution

    def phase(self, name: str) -> _Phase:
        """The operators that follow, or those of a `with` statement, belong to that phase."""
        self._phase = name
        return _Phase(self, name)

    def schedule(self, *steps: Union[Step, Sequence[Step]]) -> None:
        """The order of steps: `"F0:3"`, `"F0:0..4"`, `"update"`, `loop(...)`."""
        listed: List[Any] = []
        for step in steps:
            listed += [step] if isinstance(step, (str, Mapping)) else list(step)
        self._schedule = (self._schedule or []) + listed
        self._sources[("schedule",)] = caller()

    # What is said about tensors

    def _say(self, role: str, name: str, value: Any) -> None:
        self._maps.setdefault(role, {})[name] = value
        self._sources[(role, name)] = caller()

    def buffers(self, name: str, *tensors: TensorLike, slots: int = 1) -> None:
        """These tensors lie in one buffer and overwrite each other."""
        for tensor in tensors:
            value = name if slots == 1 else {"name": name, "slots": slots}
            self._say("buffers", self._name(tensor), value)

    def lineage(self, relations: Optional[Mapping[Any, Relation]] = None,
                **more: Relation) -> None:
        """What computed tensors are claimed to be. It is proved, and need not be given."""
        for tensor, relation in {**(relations or {}), **more}.items():
            value = self._value(relation, lambda entry: encoded(entry, self.axes))
            self._say("lineage", self._name(tensor), value)

    def outputs(self, tensors: Optional[Mapping[str, TensorLike]] = None,
                **more: TensorLike) -> None:
        """Required outputs and the tensors that are to be them; not needed for tensors that have
        the name of the output."""
        for output, tensor in {**(tensors or {}), **more}.items():
            self._say("outputs", str(output), self._name(tensor))

    @contextmanager
    def exception(self, replace: TensorLike, at: Mapping[str, Any]) -> Iterator[None]:
        """At these coordinates the operators of the `with` statement run in place of the one that
        has the output `replace`."""
        if self._recorded is not None:
            raise self._fail("an exception within an exception")
        source, word = caller(), self._name(replace)
        self._axes(list(at))
        content: Dict[str, Any] = {"at": {axis: self._attribute(where)
                                          for axis, where in at.items()}, "replace": word}
        defined, definition = dict(self._defined), dict(self._definition)
        replaced = definition.get(word, {}).get("out", word)
        for name in [replaced] if isinstance(replaced, str) else replaced:
            self._defined.pop(name, None)
            self._implied.add(name)
        self._recorded = []
        self._sources[("exceptions", len(self._exceptions))] = source
        try:
            yield
            content["with"] = self._recorded
            self._exceptions.append(content)
        finally:
            self._recorded, self._defined, self._definition = None, defined, definition
            self._implied -= set(defined)

    # The content

    def content(self) -> Dict[str, Any]:
        """The program as the plan format has it."""
        inputs = list(self._inputs) if self._listed else self._inputs
        content: Dict[str, Any] = {**self._head, "inputs": inputs, "operators": self._operators}
        if self._schedule is not None:
            content["schedule"] = self._schedule
        content.update(self._maps)
        if self._exceptions:
            content["exceptions"] = self._exceptions
        return content


class _Phase:
    """Makes `phase` usable in a `with` statement, after which another phase must begin."""

    def __init__(self, program: Program, name: str):
        self._program, self._name = program, name

    def __enter__(self) -> _Phase:
        return self

    def __exit__(self, *_: Any) -> None:
        self._program._phase, self._program._outside = None, self._name
