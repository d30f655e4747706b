"""Which arguments of a dispatched operator are the tagged numbers that a program passed to torch.

The dispatcher sees plain numbers. What the program passed is seen one floor above, where torch's functions get their arguments: there a
call is open while it runs, and operators dispatched within get their numbers from its arguments, by name and order. A gradient's
operators get theirs from the operator whose gradient they compute, or else from the call that it was dispatched in."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import torch
from torch.utils._pytree import tree_leaves

from planproof.torch.tagged import Expression, Number, Tagged, plain

#: Where a node of the autograd graph keeps the call that made it.
_KEY = "planproof_call"
_OF_PLAIN_TENSORS = torch.Tensor.__torch_dispatch__
#: What C++ computes of an argument for its gradient: of x, as an expression.
_IN_CPP = ((lambda x: -x, lambda x: ["neg", x]), (lambda x: x - 1, lambda x: ["sub", x, 1]),
           (lambda x: x - 2, lambda x: ["sub", x, 2]), (lambda x: 1 - x, lambda x: ["sub", 1, x]),
           (lambda x: 1 / x if x else None, lambda x: ["div", 1, x]))
#: Masks are made and filled with it in gradients of many functions, whatever numbers these were given.
_OF_MASKS = 0


@dataclass
class Argument:
    """A number among the arguments of a call."""

    value: Optional[Number]  # None: torch has not read the tensor
    expression: Optional[Expression]  # None: a plain number
    name: Optional[str]  # by which it is passed
    tensor: Optional[torch.Tensor] = None  # that is passed where torch takes a number
    used: bool = False


def same(left: Any, right: Any) -> bool:
    """Equal as numbers; NaN is itself, and None nothing."""
    return left is not None and (bool(left == right) or (left != left and right != right))


@dataclass
class Call:
    """A call of one of torch's functions, or an operator, with the numbers that it got."""

    function: str = ""
    arguments: List[Argument] = field(default_factory=list)
    #: Numbers that Python code of torch's computes within.
    within: List[Argument] = field(default_factory=list)
    #: Items that left tensors within; what became of them is not known yet.
    left: Set[int] = field(default_factory=set)
    _operator: int = -1
    _met: List[Number] = field(default_factory=list)

    def followed(self) -> bool:
        """Whether any number comes from a tensor."""
        return bool(self.within) or any(each.expression is not None for each in self.arguments)

    def receive(self, tensor: Optional[torch.Tensor], value: Number, item: int) -> None:
        """Torch reads an item of a tensor within: of one that was passed where it takes a number, or of another one."""
        for each in self.arguments:
            if each.tensor is not None and each.tensor is tensor:
                each.value, each.expression = value, {"item": item}
                return
        self.within.append(Argument(value, {"item": item}, None))
        self.left.add(item)

    def find(self, value: Number, name: Optional[str], operator: int) -> Optional[Argument]:
        """The argument that the operator with this number in the log has got under this name of its schema: a plain number, or one
        that comes from a tensor. None if nothing that was passed is equal to it."""
        if operator != self._operator:
            self._operator, self._met = operator, []
        turn = sum(same(value, met) for met in self._met)
        self._met.append(value)
        equal = [each for each in self.arguments if same(each.value, value)]
        named = [each for each in equal if each.name is not None and each.name == name]
        chosen = named or [each for each in equal if each.name is None] or equal
        if chosen:
            found = chosen[0] if _agree(chosen) else chosen[min(turn, len(chosen) - 1)]
            found.used = True
            return found
        for each in reversed(self.within):
            if same(each.value, value):
                if isinstance(each.expression, dict):
                    self.left.discard(each.expression["item"])
                return each
        return None

    def find_for_gradient(self, value: Number) -> Optional[Argument]:
        """The same of an operator of its gradient, for which numbers have no names and no order: where it may be one of
        several, the answer is a function of all of them."""
        equal = [each for each in [*self.arguments, *self.within] if same(each.value, value)]
        if equal:
            return equal[0] if _agree(equal) else Argument(value, self.in_gradient(value), None)
        for each in [*self.arguments, *self.within]:
            for apply, expression in _IN_CPP if each.expression is not None and each.value is not None else ():
                result = apply(each.value)
                if result is not None and same(result, value):
                    return Argument(value, expression(each.expression), None)
        return None

    def in_gradient(self, value: Number) -> Optional[Expression]:
        """A number of the gradient that C++ computes of the arguments in a way that is not known: a function of all of
        them, and of the number itself. None if none comes from a tensor."""
        if not self.followed() or value == _OF_MASKS:
            return None
        operands = [each.value if each.expression is None else each.expression for each in [*self.arguments, *self.within]
                    if each.value is not None and (each.expression is not None or math.isfinite(each.value))]
        return ["call", f"gradient.{self.function}", *operands, value] if math.isfinite(value) else None


def _agree(arguments: Sequence[Argument]) -> bool:
    return len({json.dumps(each.expression) for each in arguments}) == 1


class NumbersOfNodes:
    """The numbers that operators got, by the nodes of the autograd graph that stand for them."""

    def __init__(self) -> None:
        self._calls: Dict[int, Call] = {}
        self._next = sequence_number()

    def begin(self, operator: str) -> Call:
        """An operator of the thread in which this was made begins: its numbers are to be put into this."""
        call = Call(operator)
        if torch.is_grad_enabled():
            number = sequence_number()
            # An operator that is applied to a list has a node for each of its tensors.
            first = self._next if "_foreach_" in operator else number - 1
            for node in range(max(first, self._next), number):
                self._calls[node] = call
            self._next = number
        return call

    def find(self, value: Number) -> Optional[Argument]:
        """What is known of a number of the operator whose gradient is being computed."""
        node = torch._C._current_autograd_node() if torch._C._current_graph_task_id() != -1 else None
        if node is None:
            return None
        call = node.metadata.get(_KEY) or self._calls.get(node._sequence_nr())
        if call is None:
            return None
        found = call.find_for_gradient(value)
        if found is None:
            expression = call.in_gradient(value)
            found = None if expression is None else Argument(value, expression, None)
        return found


def numbers_in(value: Any, exact: Mapping[int, Tuple[Any, Expression]], name: Optional[str] = None) -> Iterator[Argument]:
    """Numbers in an argument, in order. `exact`: expressions of plain numbers that are known by identity."""
    if isinstance(value, Tagged):
        yield Argument(plain(value), value.origin, name)
    elif type(value) in (int, float):
        yield Argument(value, exact[id(value)][1] if id(value) in exact else None, name)
    elif isinstance(value, torch.Tensor):
        yield Argument(None, None, name, value)
    elif type(value) in (list, tuple):
        for each in value:
            yield from numbers_in(each, exact, name)
    elif isinstance(value, slice):
        for each in (value.start, value.stop, value.step):
            yield from numbers_in(each, exact, name)


def opened(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], exact: Mapping[int, Tuple[Any, Expression]]) -> Call:
    """A call that begins."""
    call = Call(getattr(function, "__name__", str(function)))
    for value in args:
        call.arguments += numbers_in(value, exact)
    for name, value in kwargs.items():
        call.arguments += numbers_in(value, exact, name)
    return call


def sequence_number() -> int:
    """The number of the next node of the autograd graph."""
    return int(torch._C._autograd._get_sequence_nr())


def mark(result: Any, call: Call, since: int) -> None:
    """Nodes that were made since then for tensors that consist of others get numbers from this call: their operators are
    dispatched to those others."""
    pending = [leaf.grad_fn for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)
               and type(leaf).__torch_dispatch__ is not _OF_PLAIN_TENSORS]
    seen = set()
    while pending:
        node = pending.pop()
        if node is None or node in seen or type(node).__name__ == "AccumulateGrad" or node._sequence_nr() < since:
            continue
        seen.add(node)
        metadata: Dict[str, Any] = node.metadata
        metadata.setdefault(_KEY, call)
        pending += [each for each, _ in node.next_functions]
