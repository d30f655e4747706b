"""Which arguments of a dispatched operator are the tagged numbers that a program passed to torch.

The dispatcher sees plain numbers. What the program passed is seen one floor above, where torch's functions get their arguments: there a
call is open while it runs, and operators dispatched within get their numbers from its arguments, by name and order. The gradients'
operators get theirs from the call whose gradient they compute."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_leaves

from planproof.torch.tagged import Expression, Number, Tagged, plain

#: Where a node of the autograd graph keeps the call that made it.
_KEY = "planproof_call"
#: What C++ computes of an argument before it passes it on, as in gradients: of x, as an expression.
_IN_CPP = ((lambda x: -x, lambda x: ["neg", x]), (lambda x: x - 1, lambda x: ["sub", x, 1]),
           (lambda x: 1 / x if x else None, lambda x: ["div", 1, x]))


@dataclass
class Argument:
    """A number among the arguments of a call."""

    value: Number
    expression: Optional[Expression]  # None: a plain number
    name: Optional[str]  # by which it is passed
    used: bool = False


def same(left: Any, right: Any) -> bool:
    """Equal as numbers; NaN is itself."""
    return bool(left == right) or (left != left and right != right)


@dataclass
class Call:
    """A call of one of torch's functions, with the numbers that it got."""

    function: str = ""
    arguments: List[Argument] = field(default_factory=list)
    #: Numbers that Python code of torch's computes within.
    within: List[Argument] = field(default_factory=list)
    _operator: int = -1
    _met: List[Number] = field(default_factory=list)

    def followed(self) -> bool:
        """Whether any number comes from a tensor."""
        return bool(self.within) or any(each.expression is not None for each in self.arguments)

    def find(self, value: Number, name: Optional[str], operator: int) -> Optional[Argument]:
        """The argument that the operator with this number in the log has got under this name of its schema, if it comes from a
        tensor."""
        if operator != self._operator:
            self._operator, self._met = operator, []
        turn = sum(same(value, met) for met in self._met)
        self._met.append(value)
        equal = [each for each in self.arguments if same(each.value, value)]
        named = [each for each in equal if each.name is not None and each.name == name]
        chosen = named or [each for each in equal if each.name is None] or equal
        if chosen:
            found = chosen[0] if len({json.dumps(each.expression) for each in chosen}) == 1 else chosen[min(turn, len(chosen) - 1)]
            found.used = True
            return found if found.expression is not None else None
        for each in reversed(self.within):
            if same(each.value, value):
                return each
        return self._computed(value)

    def _computed(self, value: Number) -> Optional[Argument]:
        for each in [*self.arguments, *self.within]:
            for apply, expression in _IN_CPP if each.expression is not None else ():
                result = apply(each.value)
                if result is not None and same(result, value):
                    each.used = True
                    return Argument(value, expression(each.expression), None)
        return None


def numbers_in(value: Any, exact: Mapping[int, Tuple[Any, Expression]], name: Optional[str] = None) -> Iterator[Argument]:
    """Numbers in an argument, in order. `exact`: expressions of plain numbers that are known by identity."""
    if isinstance(value, Tagged):
        yield Argument(plain(value), value.origin, name)
    elif type(value) in (int, float):
        yield Argument(value, exact[id(value)][1] if id(value) in exact else None, name)
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
    """Nodes that were made for this result since then get numbers from this call."""
    pending = [leaf.grad_fn for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    seen = set()
    while pending:
        node = pending.pop()
        if node is None or node in seen or type(node).__name__ == "AccumulateGrad" or node._sequence_nr() < since:
            continue
        seen.add(node)
        metadata: Dict[str, Any] = node.metadata
        metadata.setdefault(_KEY, call)
        pending += [each for each, _ in node.next_functions]


def call_of_gradient() -> Optional[Call]:
    """The call whose gradient is being computed."""
    if torch._C._current_graph_task_id() == -1:
        return None
    node = torch._C._current_autograd_node()
    return None if node is None else node.metadata.get(_KEY)
