"""Numbers that left tensors in an iteration before the recorded one, and that the program kept: a rate that follows the loss, an
average in an attribute.

They are state that no tensor holds, so no input of the recording can stand for them. Their tag says no more than that they are of an
earlier iteration, of which a verdict knows nothing."""
from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import Any, Iterator, Optional

import torch

from planproof.torch.leaving import leaving
from planproof.torch.program_numbers import Converts, in_program
from planproof.torch.tagged import Expression, Tagged, plain, tagged
from planproof.torch.trace_file import is_finite, number

#: The function of which a verdict knows nothing; it is in messages.
FUNCTION = "item of an earlier iteration"


class EarlierNumbers:
    """Follows numbers through iterations before the recorded one."""

    def __init__(self) -> None:
        self.count = 0
        #: Who follows them in the recorded iteration.
        self.later: Optional[Converts] = None

    @contextmanager
    def following(self) -> Iterator[None]:
        """Numbers that leave tensors within are tagged."""
        with ExitStack() as stack:
            stack.enter_context(in_program(self))
            stack.enter_context(leaving(self, lambda way: None))
            yield

    def left(self, name: str, tensor: torch.Tensor, before: int, value: Any) -> Any:
        """What a method of a tensor gives to Python."""
        return self.computed(value, None) if name == "item" else value

    def computed(self, value: Any, expression: Expression) -> Any:
        """A number that was computed from earlier ones, and perhaps others."""
        if self.later is not None:
            return self.later.computed(value, expression)
        return tagged(self, value, ["call", FUNCTION, number(value)]) if is_finite(value) else value

    def converted(self, way: str, value: Any) -> Any:
        """`int(value)` or `float(value)`, tagged."""
        if isinstance(value, torch.Tensor):
            value = value.item()
        converted = (int if way == "int" else float)(plain(value))
        return self.computed(converted, None) if isinstance(value, Tagged) else converted

    def lost(self, way: str, value: Any, expression: Expression) -> None:
        """A number goes on as a plain one."""
        if self.later is not None:
            self.later.lost(way, value, expression)

    def decided(self, by: str, values: Any, expressions: Any) -> None:
        """A number was compared."""
        if self.later is not None:
            self.later.decided(by, values, expressions)

    def written(self, text: str, value: Any, expression: Expression) -> None:
        """A text was made of a number."""
        if self.later is not None:
            self.later.written(text, value, expression)
