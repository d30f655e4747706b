"""Numbers that leave tensors while a step is recorded, and what becomes of them.

Numbers are tagged (`planproof.torch.tagged`) where they leave (`.item()`), and are recognised where they are passed to torch
(`planproof.torch.passed_numbers`), never because another number is equal to them. What cannot be followed is listed: a
conversion that gives a plain number, a decision, a size. An item of which nothing else is known is listed, too."""
from __future__ import annotations

import json
import math
import os
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from planproof.torch.leaving import METHODS, leaving
from planproof.torch.passed_numbers import Argument, Call, NumbersOfNodes, mark, opened, same, sequence_number
from planproof.torch.program_numbers import in_program
from planproof.torch.reentered import program_is_reentered
from planproof.torch.tagged import Expression, Number, Tagged, finite, plain, tagged
from planproof.torch.trace_file import number

#: Conversions whose results are not seen any more, so that equal arguments may be they.
_OUT_OF_SIGHT = ("int", "index")
#: Functions that make whole numbers of whole numbers, which have been listed.
_OF_WHOLE_NUMBERS = ("floordiv", "mod", "abs", "and", "or", "xor", "lshift", "rshift", "invert", "modular_pow")
#: Texts of numbers, and numbers, that are remembered.
_MOST_REMEMBERED = 4096

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SELF = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _OfThread(threading.local):
    """What a thread is in."""

    def __init__(self) -> None:
        self.calls: List[Call] = []  # open ones, the innermost last
        self.operator = Call()  # the numbers of the operator that is being dispatched


class Items:
    """The numbers that left tensors in one recording."""

    def __init__(self) -> None:
        self.count = 0
        #: Ways on which numbers went on that cannot be followed, as docs/torch-trace.md has them.
        self.numbers: List[Dict[str, Any]] = []
        self.exact: Dict[int, Tuple[Any, Expression]] = {}
        self._thread = _OfThread()
        self._nodes: Optional[NumbersOfNodes] = None
        self._main = threading.get_ident()
        self._following = False
        self._operator = 0
        self._places: Dict[str, int] = {}  # of entries of `numbers`
        self._out_of_sight: List[int] = []  # entries of `numbers` to which arguments may be equal
        self._unclaimed: Dict[int, Tuple[Any, str]] = {}  # items of which nothing is known yet: value and line
        self._texts: Dict[str, Tuple[Any, Expression]] = {}
        self._telling: Dict[float, Expression] = {}  # numbers that are equal to another one by no accident
        self._where: Callable[[], Optional[str]] = lambda: None
        self._escaped: Callable[[str], None] = lambda way: None

    @property
    def calls(self) -> List[Call]:
        """This thread's open calls of torch's functions."""
        return self._thread.calls

    def leave(self, value: Number, tensor: Optional[torch.Tensor] = None) -> int:
        """A number leaves a tensor: its position among all that did."""
        index = self.count
        self.count = index + 1
        if self.calls:
            self.calls[-1].receive(tensor, value, index)
        if not self.calls or index in self.calls[-1].left:
            self._unclaimed[index] = value, self._where() or ""
        return index

    # Numbers that are followed.

    def computed(self, value: Any, expression: Expression) -> Any:
        """The result of arithmetic with numbers from tensors, which remembers it. A whole number may be used out of sight, to
        index a list or to count a loop, so it is listed where it is made."""
        if not self._following:
            return value
        result = tagged(self, value, expression)
        if result is value:
            return value
        if self.calls:
            self.calls[-1].within.append(Argument(plain(result), expression, None))
        if isinstance(result, float) and _is_telling(value) and len(self._telling) < _MOST_REMEMBERED:
            self._telling[value] = expression
        if isinstance(result, int):
            if isinstance(expression, dict):
                self._list("conversion", "item", [expression], [value])
            elif expression[0] == "call" and expression[1] not in _OF_WHOLE_NUMBERS:
                self._list("conversion", expression[1], [expression], [value])
        return result

    def converted(self, way: str, value: Any) -> Any:
        """`int(value)` or `float(value)` of a tagged number, a tensor or a text in the program's own code, tagged."""
        if isinstance(value, str):
            for text in self._texts:
                if text in value:
                    self._list("conversion", "str", [self._texts[text][1]], [self._texts[text][0]])
            return int(value) if way == "int" else float(value)
        origin = value.origin if not isinstance(value, torch.Tensor) else None
        if isinstance(value, torch.Tensor):
            value = value.item()
            if not isinstance(value, Tagged):
                return int(value) if way == "int" else float(value)
            origin = value.origin
        bare = plain(value)
        kept = way == "float" or isinstance(bare, int)
        return self.computed((int if way == "int" else float)(bare), origin if kept else ["call", way, origin])

    def begin_operator(self, name: str) -> None:
        """Arguments of another operator follow."""
        self._operator += 1
        followed = self._nodes is not None and threading.get_ident() == self._main
        self._thread.operator = self._nodes.begin(name) if followed and self._nodes is not None else Call(name)

    def encoded(self, value: Number, name: Optional[str] = None) -> Any:
        """A number that is passed to an operator under a name of its schema, with its origin if it came from a tensor."""
        found = self._found(value, name)
        expression = found.expression if found is not None else None
        self._thread.operator.arguments.append(Argument(value, expression, name))
        if expression is not None:
            if threading.get_ident() != self._main:
                self._list("conversion", "thread", [expression], [value])  # its gradient would not be seen
            return _with_origin(expression, value)
        for index in self._out_of_sight:
            if same(self.numbers[index]["value"][0], value):
                return {"may_be": index, "value": number(value)}
        self.unseen(value)
        return number(value)

    def unseen(self, value: float, source: Optional[str] = None) -> None:
        """A number that a tensor or arithmetic gave is somewhere as a plain one: it went through C code, or a text. It is
        listed, and no more than that."""
        if value in self._telling:
            self._list("conversion", "item", [self._telling[value]], [value], source)

    def in_memory(self, content: numpy.ndarray) -> None:
        """The same of the real numbers of memory that no operator made."""
        if self._telling and content.size <= _MOST_REMEMBERED:
            rounded = {content.dtype.type(value): value for value in self._telling}
            for element in content.flat:
                if element in rounded:
                    self.unseen(rounded[element], "")

    def _found(self, value: Number, name: Optional[str]) -> Optional[Argument]:
        for call in reversed(self.calls):
            found = call.find(value, name, self._operator)
            if found is not None:
                return found
        if self.calls or self._nodes is None or threading.get_ident() != self._main:
            return None
        return self._nodes.find(value)

    def of_default(self, name: str, default: Any) -> Any:
        """The number that was passed under this name and left out by the dispatcher, which leaves out defaults. None if none
        from a tensor was."""
        if not self.calls or type(default) not in (int, float):
            return None
        for each in self.calls[-1].arguments:
            if each.name == name and each.expression is not None and same(each.value, default):
                each.used = True
                self._thread.operator.arguments.append(Argument(default, each.expression, name))
                return _with_origin(each.expression, default)
        return None

    def elements(self, count: int) -> Optional[List[Any]]:
        """The numbers of which `torch.tensor` makes a tensor of so many elements, if one of them came from a tensor."""
        call = self.calls[-1] if self.calls else None
        if call is None or len(call.arguments) != count or any(each.value is None for each in call.arguments) or \
                all(each.expression is None for each in call.arguments):
            return None
        for each in call.arguments:
            each.used = True
        return [number(each.value) if each.expression is None else _with_origin(each.expression, each.value)
                for each in call.arguments if each.value is not None]

    # Numbers that are not.

    def left(self, name: str, tensor: torch.Tensor, before: int, value: Any) -> Any:
        """What a method of a tensor gives to Python, when so many items had left before."""
        if not self._following or isinstance(value, Tagged):
            return value
        if self.count == before:
            if threading.get_ident() != self._main and not torch._C._len_torch_dispatch_stack():
                self._escaped(f"{name}() in another thread, .{name}")
            return value
        item = self.count - 1
        self._claim(item)
        origin = {"item": item}
        if name == "__bool__":
            self._list("decision", "bool", [origin], [bool(value)])
        elif name in ("__float__", "__complex__"):
            self.lost(name.strip("_"), value.real, origin)  # a complex item cannot be recorded
        elif name in ("__int__", "__index__"):
            whole = not (tensor.is_floating_point() or tensor.is_complex())
            self.lost(name.strip("_"), value, origin if whole else ["call", "int", origin])
        elif isinstance(value, bool):
            self.lost("bool", value, origin)
        else:
            return self.computed(value, origin)
        return value

    def lost(self, way: str, value: Any, expression: Expression) -> None:
        """A number goes on as a plain one."""
        if not self._following:
            return
        if way == "float":
            self.exact[id(value)] = (value, expression)
        place = self._list("conversion", way, [expression], [value])
        if way in _OUT_OF_SIGHT and place not in self._out_of_sight:
            self._out_of_sight.append(place)

    def decided(self, by: str, values: Any, expressions: Any) -> None:
        """A number was compared. That torch's functions look whether an argument is one that they take is no decision of the
        program's."""
        if self._following and not (self.calls and _called_by_torch()):
            self._list("decision", by, expressions, values)

    def by_data(self, way: str, by: str, value: Number) -> None:
        """An operator gave Python a number that depends on data and is no item: a truth value, a size."""
        if self._following:
            self._list(way, by, [int(value) if isinstance(value, bool) else value], [value])

    def written(self, text: str, value: Any, expression: Expression) -> None:
        """A text was made of a number, perhaps to be shown; it is listed if a number is read from it."""
        if self._following and len(self._texts) < _MOST_REMEMBERED:
            self._texts[text] = value, expression

    def close(self, call: Call, result: Any) -> None:
        """The call has ended. Its numbers that no operator got are listed, sizes and indices, and what it read of tensors."""
        for each in call.arguments if self._following else ():
            if each.expression is not None and not each.used:
                self._list("argument", call.function, [each.expression], [each.value])
        for each in call.arguments:
            each.tensor = None  # nodes of the autograd graph may keep the call
        for item in sorted(call.left):
            if item in self._unclaimed:
                value, _ = self._unclaimed[item]
                way = "decision" if isinstance(result, bool) else "argument"
                self._list(way, call.function, [{"item": item}], [value])
                self._claim(item)

    def _claim(self, item: int) -> None:
        self._unclaimed.pop(item, None)
        if self.calls:
            self.calls[-1].left.discard(item)

    def _list(self, way: str, by: str, expressions: Sequence[Expression], values: Sequence[Any],
              source: Optional[str] = None) -> int:
        entry = {"way": way, "by": by, "of": [each for each in map(finite, expressions) if each is not None] or [0],
                 "value": [number(each) for each in values], "source": self._where() or "" if source is None else source}
        place = self._places.setdefault(json.dumps(entry), len(self.numbers))
        if place == len(self.numbers):
            self.numbers.append(entry)
        return place

    # Where they are seen.

    @contextmanager
    def following(self, escaped: Callable[[str], None], where: Callable[[], Optional[str]]) -> Iterator["Calls"]:
        """What torch's functions get and give is seen. `escaped` is told of other ways by which values leave tensors, `where`
        gives the line of the program."""
        self._where, self._escaped, self._nodes = where, escaped, NumbersOfNodes()
        calls = Calls(self)
        with ExitStack() as stack:
            stack.callback(setattr, torch, "tensor", torch.tensor)
            setattr(torch, "tensor", _from_tensors(torch.tensor))
            stack.enter_context(in_program(self))
            stack.enter_context(leaving(self, escaped))
            stack.enter_context(program_is_reentered(calls.again))
            stack.enter_context(calls)
            self._following = True
            stack.callback(setattr, self, "_following", False)
            yield calls
        for item, (value, source) in sorted(self._unclaimed.items()):
            self._list("conversion", "item", [{"item": item}], [value], source)


class Calls(TorchFunctionMode):
    """Sees the calls of torch's functions, with their arguments as the program passes them."""

    def __init__(self, items: Items) -> None:
        super().__init__()
        self.items = items
        self._within = threading.local()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs, items = kwargs or {}, self.items
        if getattr(func, "__name__", "") in METHODS and args and isinstance(args[0], torch.Tensor):
            return func(*args, **kwargs)
        call, since = opened(func, args, kwargs, items.exact), sequence_number()
        depth = getattr(self._within, "depth", 0)
        items.calls.append(call)
        self._within.depth = depth + 1
        result = None
        try:
            result = func(*args, **kwargs)
        finally:
            self._within.depth = depth
            items.calls.pop()
            items.close(call, result)
        if call.followed():
            mark(result, call, since)
        return result

    @contextmanager
    def again(self) -> Iterator[None]:
        """Python code that torch runs within a call is the program's: it makes calls of its own."""
        thread, depth = self.items._thread, getattr(self._within, "depth", 0)
        calls, thread.calls = thread.calls, []
        operator = thread.operator
        self._within.depth = 0
        try:
            if depth:
                with self:
                    yield
            else:
                yield
        finally:
            thread.calls, thread.operator, self._within.depth = calls, operator, depth


def _is_telling(value: float) -> bool:
    """Whether a number has so many digits that programs do not name it."""
    return math.isfinite(value) and float(f"{value:.5g}") != value


def _called_by_torch() -> bool:
    """Whether the innermost frame that is not the recorder's is one of torch's."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_SELF):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_TORCH)


def _with_origin(expression: Expression, value: Number) -> Any:
    if isinstance(expression, dict):
        return {"item": expression["item"], "value": number(value)}
    return {"computed": expression, "value": number(value)}


def _from_tensors(plain_tensor: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.tensor` that stacks if it is given a list of tensors of one element."""

    def tensor(data: Any, *args: Any, **kwargs: Any) -> Any:
        made = plain_tensor(data, *args, **kwargs)
        if isinstance(data, torch.Tensor) or not isinstance(data, (list, tuple)):
            return made
        leaves: Sequence[Any] = tree_leaves(data)
        if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            return made
        parts = [leaf.detach().reshape(()).to(made.dtype) if isinstance(leaf, torch.Tensor)
                 else plain_tensor(leaf, dtype=made.dtype) for leaf in leaves]
        return torch.stack(parts).reshape(made.shape).requires_grad_(made.requires_grad)

    return tensor
