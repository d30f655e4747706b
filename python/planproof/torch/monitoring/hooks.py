"""Callables that are hooked into a user's modules: copies and pickles of the modules do not get them, compiled graphs do not contain them."""
from __future__ import annotations

from typing import Any, Callable

import torch

#: The number of the backward pass that this thread is within, -1 if there is none.
_backward_pass = getattr(torch._C, "_current_graph_task_id")


def _nothing(*_: Any, **__: Any) -> None:
    """What is left of a hook in a copy of a module."""


def _nothing_there() -> Callable[..., None]:
    return _nothing


def in_backward() -> bool:
    """Whether this thread is within a backward pass: what runs there again has been seen."""
    return bool(_backward_pass() != -1)


class Hook:
    """Calls a function, except while a graph is compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **options: Any) -> None:
        if not torch.compiler.is_compiling():
            self.function(*arguments, **options)

    def __deepcopy__(self, _: Any) -> Callable[..., None]:
        return _nothing

    def __copy__(self) -> Callable[..., None]:
        return _nothing

    def __reduce__(self) -> Any:
        return _nothing_there, ()
