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

    def _result(self, operator: str, *operands: Operand) -> Tensor:
        result: Tensor = self.graph.op(operator, *operands)
        return result

    def __add__(self, other: Operand) -> Tensor:
        return self._result("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return self._result("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return self._result("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return self._result("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return self._result("mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return self._result("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return self._result("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self._result("div", other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return self._result("pow", self, other)

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._result("matmul", self, other)

    def __neg__(self) -> Tensor:
        return self._result("neg", self)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: a plan does not depend on what it computes")

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} is one tensor: for several outputs, name them: out=[...]")


#: A tensor, its name, a number, or None for an optional operand that is left out.
Operand = Union[Tensor, str, int, float, Any, None]
#: A tensor or its name.
TensorLike = Union[Tensor, str]
