"""The model on one device."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from planproof.errors import PlanError
from planproof.graph import Graph
from planproof.relations import Relation, encoded
from planproof.source import caller
from planproof.tensors import Tensor, TensorLike

#: "positive", "nonnegative", "nonzero", "no tie", "row unmasked", a range (low, high), or a list.
Premise = Union[str, Sequence[Any]]
#: Extents `[8, 16]` (float32), or a type as the format has it: `"int64[8, 16]"`.
Type = Union[str, Sequence[int], Mapping[str, Any]]


class Specification(Graph):
    """What the model computes: inputs, parameters, operators, gradients, required outputs."""

    title = "the specification"

    def __init__(self, note: Optional[str] = None):
        super().__init__()
        self.note = note
        self.declarations: List[str] = []
        self._leaves: Dict[str, Dict[str, Any]] = {}  # by role: inputs, parameters, ...
        self._gradients: List[Dict[str, Any]] = []
        self._maps: Dict[str, Dict[str, Any]] = {}  # premises, literals, updates, relations
        self._outputs: Union[List[str], Dict[str, Any], None] = None
        self._source = caller()

    # Tensors that nothing computes

    def input(self, name: str, shape: Type, dtype: Optional[str] = None,
              premise: Optional[Premise] = None) -> Tensor:
        """Data of the batch."""
        return self._leaf("inputs", name, shape, dtype, premise)

    def parameter(self, name: str, shape: Type, dtype: Optional[str] = None,
                  premise: Optional[Premise] = None) -> Tensor:
        """A trained tensor."""
        return self._leaf("parameters", name, shape, dtype, premise)

    def buffer(self, name: str, shape: Type, dtype: Optional[str] = None,
               premise: Optional[Premise] = None) -> Tensor:
        """A constant tensor of the model, with arbitrary values."""
        return self._leaf("buffers", name, shape, dtype, premise)

    def ones(self, name: str, shape: Type, dtype: Optional[str] = None) -> Tensor:
        """A tensor whose every element is 1."""
        return self._leaf("ones", name, shape, dtype, None)

    def zeros(self, name: str, shape: Type, dtype: Optional[str] = None) -> Tensor:
        """A tensor whose every element is 0."""
        return self._leaf("zeros", name, shape, dtype, None)

    def inputs(self, types: Optional[Mapping[str, Type]] = None,
               **more: Type) -> Tuple[Tensor, ...]:
        """Several inputs: `x, t = model.inputs(x=[8, 16], t=[8, 32])`."""
        return self._several("inputs", types, more)

    def parameters(self, types: Optional[Mapping[str, Type]] = None,
                   **more: Type) -> Tuple[Tensor, ...]:
        """Several parameters."""
        return self._several("parameters", types, more)

    def buffers(self, types: Optional[Mapping[str, Type]] = None,
                **more: Type) -> Tuple[Tensor, ...]:
        """Several buffers."""
        return self._several("buffers", types, more)

    def _several(self, role: str, types: Optional[Mapping[str, Type]],
                 more: Mapping[str, Type]) -> Tuple[Tensor, ...]:
        return tuple(self._leaf(role, name, shape, None, None)
                     for name, shape in {**(types or {}), **more}.items())

    def _leaf(self, role: str, name: str, shape: Type, dtype: Optional[str],
              premise: Optional[Premise]) -> Tensor:
        source = caller()
        if isinstance(shape, (str, Mapping)):
            if dtype is not None:
                raise PlanError(f"the type {shape!r} names its elements already", source)
            kind: Any = shape
        else:
            extents = [self._attribute(extent) for extent in shape]
            wrong = [extent for extent in extents
                     if not isinstance(extent, int) or isinstance(extent, bool) or extent < 0]
            if wrong:
                raise PlanError(f"an extent is a number of indices, not {wrong[0]!r}", source)
            kind = {"shape": extents, "dtype": dtype} if dtype else extents
        tensor = self._define(name, source)
        self._leaves.setdefault(role, {})[name] = kind
        self._sources[(role, name)] = source
        if premise is not None:
            self.premise(tensor, premise)
        return tensor

    def is_parameter(self, name: str) -> bool:
        """Whether a parameter has that name."""
        return name in self._leaves.get("parameters", {})

    def _knows(self, name: str) -> bool:
        if super()._knows(name):
            return True
        stem = name[len("grad."):] if name.startswith("grad.") else ""
        return stem in self._defined or stem.rpartition(".")[0] in self._defined and \
            stem.rpartition(".")[2].isdigit()

    # What is said about them

    def _say(self, role: str, name: str, value: Any) -> None:
        self._maps.setdefault(role, {})[name] = value
        self._sources[(role, name)] = caller()

    def premise(self, tensor: TensorLike, premise: Premise) -> None:
        """Restricts the domain of an input."""
        self._say("premises", self._name(tensor), self._attribute(premise))

    def literal(self, decimal: str, rational: str) -> None:
        """The decimal stands for the rational, in both graphs: `literal("0.333333343", "1/3")`."""
        self._say("literals", decimal, str(rational))

    def relation(self, tensor: TensorLike, relation: Relation) -> None:
        """Prescribes in which slices devices hold an input."""
        self._say("relations", self._name(tensor), self._value(relation, encoded))

    def prescribed(self, name: str) -> Relation:
        """The relation that is prescribed for an input, if there is one."""
        return self._maps.get("relations", {}).get(name)

    def gradients(self, loss: TensorLike, of: Sequence[TensorLike]) -> Tuple[Tensor, ...]:
        """Derives the backward graph; gives `grad.P` for every P in `of`."""
        entry = {"loss": self._name(loss), "of": [self._name(tensor) for tensor in of]}
        self._sources[("gradients", len(self._gradients))] = caller()
        self._gradients.append(entry)
        return tuple(Tensor(f"grad.{name}", self) for name in entry["of"])

    def update(self, parameter: TensorLike, new: TensorLike) -> None:
        """The new value of a parameter; every device that reads the one must get the other."""
        self._say("updates", self._name(parameter), self._name(new))

    # What is required

    def outputs(self, *required: Union[TensorLike, Mapping[Any, Relation]]) -> None:
        """Required outputs. Tensors: every device holds them in full. A mapping of tensors to
        relations: the programs that claim an output hold it so (docs/plan-format.md)."""
        for entry in required:
            if isinstance(entry, Mapping):
                for tensor, relation in entry.items():
                    self.output(tensor, relation or {})
            else:
                self.output(entry)

    def output(self, tensor: TensorLike, relation: Relation = None) -> None:
        """A required output: in full on every device, or in the given relation."""
        source, name = caller(), self._name(tensor)
        if name in self._numbered:
            raise PlanError('an output needs a name by which plans refer to it: out="..."', source)
        if self._outputs is None:
            self._outputs = [] if relation is None else {}
        if isinstance(self._outputs, list) != (relation is None):
            raise PlanError("some outputs have a relation and some have none: write {} for a "
                            'whole tensor, {"on": {}} for one that every device holds', source)
        if name in self._outputs:
            raise PlanError(f'"{name}" is required already', source)
        if isinstance(self._outputs, list):
            self._sources[("outputs", len(self._outputs))] = source
            self._outputs.append(name)
        else:
            self._sources[("outputs", name)] = source
            self._outputs[name] = self._value(relation, encoded)

    # The content

    def _keep_declarations(self, lines: List[str]) -> None:
        self.declarations += lines

    def content(self) -> Dict[str, Any]:
        """The role `specification` as the plan format has it."""
        content: Dict[str, Any] = {"note": self.note} if self.note else {}
        content.update(self._leaves)
        content.update({role: said for role, said in self._maps.items() if role != "updates"})
        content["operators"] = self._operators
        if self._gradients:
            content["gradients"] = (self._gradients[0] if len(self._gradients) == 1
                                    else self._gradients)
        if "updates" in self._maps:
            content["updates"] = self._maps["updates"]
        if self._outputs is not None:
            content["outputs"] = self._outputs
        return content
