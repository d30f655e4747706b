"""Numbers that leave tensors while a step is recorded, and what becomes of them.

Numbers are tagged (`planproof.torch.tagged`) where they leave (`.item()`), and are recognised where they are passed to torch
(`planproof.torch.passed_numbers`), never because another number is equal to them. What cannot be followed is listed: a
conversion that gives a plain number, a decision, a size."""
from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from planproof.torch.passed_numbers import Argument, Call, call_of_gradient, mark, opened, same, sequence_number
from planproof.torch.program_numbers import in_program
from planproof.torch.tagged import Expression, Number, plain, tagged
from planproof.torch.trace_file import number

#: Conversions whose results are not seen any more, so that equal arguments may be they.
_OUT_OF_SIGHT = ("int", "index")
#: Methods of a tensor that give Python values.
_LEAVES = ("item", "__float__", "__int__", "__index__", "__bool__", "tolist", "numpy", "__array__")


class Items:
    """The numbers that left tensors in one recording."""

    def __init__(self) -> None:
        self.count = 0
        #: Ways on which numbers went on that cannot be followed, as docs/torch-trace.md has them.
        self.numbers: List[Dict[str, Any]] = []
        self.calls: List[Call] = []
        self.exact: Dict[int, Tuple[Any, Expression]] = {}
        self._last: Any = None
        self._following = False
        self._operator = 0
        self._where: Callable[[], Optional[str]] = lambda: None

    def leave(self, value: Number) -> int:
        """A number leaves: its position among all that did."""
        index = self.count
        self.count, self._last = index + 1, value
        return index

    # Numbers that are followed.

    def computed(self, value: Any, expression: Expression) -> Any:
        """The result of arithmetic with numbers from tensors, which remembers it."""
        if not self._following:
            return value
        result = tagged(self, value, expression)
        if self.calls and result is not value:
            self.calls[-1].within.append(Argument(value, expression, None))
        return result

    def converted(self, way: str, value: Any) -> Any:
        """`int(value)` or `float(value)` of a tagged number or a tensor in the program's own code, tagged."""
        origin = value.origin if not isinstance(value, torch.Tensor) else None
        if isinstance(value, torch.Tensor):
            before = self.count
            value = value.item()
            if self.count == before:
                return int(value) if way == "int" else float(value)
            origin = {"item": self.count - 1}
        bare = plain(value)
        kept = way == "float" or isinstance(bare, int)
        return self.computed((int if way == "int" else float)(bare), origin if kept else ["call", way, origin])

    def begin_operator(self) -> None:
        """Arguments of another operator follow."""
        self._operator += 1

    def encoded(self, value: Number, name: Optional[str] = None) -> Any:
        """A number that is passed to an operator under a name of its schema, with its origin if it came from a tensor."""
        gradient = call_of_gradient()
        for call in [*reversed(self.calls), *([gradient] if gradient else [])]:
            found = call.find(value, name, self._operator)
            if found is not None:
                return _with_origin(found.expression, value)
        for index, entry in enumerate(self.numbers):
            if entry["way"] == "conversion" and entry["by"] in _OUT_OF_SIGHT and same(entry["value"][0], value):
                return {"may_be": index, "value": number(value)}
        return number(value)

    def of_default(self, name: str, default: Any) -> Any:
        """The number that was passed under this name and left out by the dispatcher, which leaves out defaults. None if none
        from a tensor was."""
        if not self.calls or type(default) not in (int, float):
            return None
        for each in self.calls[-1].arguments:
            if each.name == name and each.expression is not None and same(each.value, default):
                each.used = True
                return _with_origin(each.expression, default)
        return None

    def elements(self, count: int) -> Optional[List[Any]]:
        """The numbers of which `torch.tensor` makes a tensor of so many elements, if one of them came from a tensor."""
        call = self.calls[-1] if self.calls else None
        if call is None or len(call.arguments) != count or all(each.expression is None for each in call.arguments):
            return None
        for each in call.arguments:
            each.used = True
        return [number(each.value) if each.expression is None else _with_origin(each.expression, each.value)
                for each in call.arguments]

    # Numbers that are not.

    def lost(self, way: str, value: Any, expression: Expression) -> None:
        """A number goes on as a plain one."""
        if not self._following or self.calls:
            return
        if way == "float":
            self.exact[id(value)] = (value, expression)
        self._list("conversion", way, [expression], [value])

    def decided(self, by: str, values: Any, expressions: Any) -> None:
        """A number was compared."""
        if self._following and not self.calls:
            self._list("decision", by, expressions, values)

    def unseen(self, call: Call) -> None:
        """Numbers of a call that no operator got: sizes, indices."""
        for each in call.arguments if self._following and not self.calls else ():
            if each.expression is not None and not each.used:
                self._list("argument", call.function, [each.expression], [each.value])

    def _list(self, way: str, by: str, expressions: Sequence[Expression], values: Sequence[Any]) -> None:
        entry = {"way": way, "by": by, "of": [each for each in expressions if each is not None],
                 "value": [number(each) for each in values], "source": self._where() or ""}
        if entry not in self.numbers:
            self.numbers.append(entry)

    # Where they are seen.

    @contextmanager
    def following(self, escaped: Callable[[str], None], where: Callable[[], Optional[str]]) -> Iterator[None]:
        """What torch's functions get and give is seen. `escaped` is told of other ways by which values leave tensors, `where`
        gives the line of the program."""
        self._where = where
        with ExitStack() as stack:
            stack.callback(setattr, torch, "tensor", torch.tensor)
            setattr(torch, "tensor", _from_tensors(torch.tensor))
            stack.enter_context(in_program(self))
            stack.enter_context(_Calls(self, escaped))
            self._following = True
            stack.callback(setattr, self, "_following", False)
            yield


class _Calls(TorchFunctionMode):
    """Sees the calls of torch's functions, with their arguments as the program passes them."""

    def __init__(self, items: Items, escaped: Callable[[str], None]) -> None:
        super().__init__()
        self.items, self.escaped = items, escaped

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _LEAVES and args and isinstance(args[0], torch.Tensor):
            return self._leaves(func, name, args, kwargs)
        if func is torch.Tensor.backward:
            with self:  # gradients' own Python code is the program's, too
                return _backward(*args, **kwargs)
        call, since = opened(func, args, kwargs, self.items.exact), sequence_number()
        self.items.calls.append(call)
        try:
            result = func(*args, **kwargs)
        finally:
            self.items.calls.pop()
        if call.followed():
            mark(result, call, since)
            self.items.unseen(call)
        return result

    def _leaves(self, func: Any, name: str, args: Any, kwargs: Dict[str, Any]) -> Any:
        items, before = self.items, self.items.count
        if name in ("tolist", "numpy", "__array__"):
            self.escaped("numpy" if name == "__array__" else name)
        value = func(*args, **kwargs)
        if items.count == before:
            return value
        origin = {"item": items.count - 1}
        if name == "__bool__":
            items.decided("bool", (items._last,), (origin,))
        elif name == "__float__":
            items.lost("float", value, origin)
        elif name in ("__int__", "__index__"):
            whole = not (args[0].is_floating_point() or args[0].is_complex())
            items.lost(name.strip("_"), value, origin if whole else ["call", "int", origin])
        elif name == "item" and isinstance(value, bool):
            items.lost("bool", value, origin)
        elif name == "item":
            return items.computed(value, origin)
        return value


def _backward(tensor: torch.Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
              inputs: Any = None) -> None:
    torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)


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
