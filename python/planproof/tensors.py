"""Handles of tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from planproof.graph import Graph


class Tensor:
    """A tensor of a specification or of a program, by its name. Arithmetic adds operators."""

    __slots__ = ("name", "graph")

    def __init__(self, name: str, graph: Graph):
        self.name = name
        self.graph = graph

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<tensor {self.name} of {self.graph.title}>"

    def __add__(self, other: Operand) -> Tensor:
        return self.graph.op("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return self.graph.op("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return self.graph.op("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return self.graph.op("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return self.graph.op("mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return self.graph.op("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.graph.op("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self.graph.op("div", other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return self.graph.op("pow", self, other)

    def __matmul__(self, other: Tensor) -> Tensor:
        return self.graph.op("matmul", self, other)

    def __neg__(self) -> Tensor:
        return self.graph.op("neg", self)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: a plan does not depend on what it computes")

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} is one tensor: for several outputs, name them: out=[...]")


#: A tensor, its name, a number, or None for an optional operand that is left out.
Operand = Union[Tensor, str, int, float, Any, None]
#: A tensor or its name.
TensorLike = Union[Tensor, str]
