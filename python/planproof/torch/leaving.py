"""Methods of tensors that give numbers to Python, replaced while a step is recorded.

They are replaced in the class, so that they are seen wherever they are called: within functions of torch's, in hooks, and in
threads."""
from __future__ import annotations

import functools
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, Protocol

import torch

#: Methods that give one number.
_ONE = ("item", "__float__", "__int__", "__index__", "__bool__", "__complex__")
#: Methods that give all elements, which are not followed.
_ALL = ("tolist", "numpy", "__dlpack__", "__reduce_ex__")
METHODS = (*_ONE, *_ALL)


class Leaves(Protocol):
    """Who follows numbers that leave."""

    count: int

    def left(self, name: str, tensor: torch.Tensor, before: int, value: Any) -> Any:
        """What a method of a tensor gives to Python, when so many items had left before."""


@contextmanager
def leaving(items: Leaves, escaped: Callable[[str], None]) -> Iterator[None]:
    """What leaves tensors is told to `items`, and to `escaped` if it is not followed: by which method."""
    own = vars(torch.Tensor)
    with ExitStack() as stack:
        for name in METHODS:
            if not hasattr(torch.Tensor, name):
                continue
            if name in own:
                stack.callback(setattr, torch.Tensor, name, own[name])
            else:
                stack.callback(delattr, torch.Tensor, name)
            method = getattr(torch.Tensor, name)
            setattr(torch.Tensor, name, _one(name, method, items) if name in _ONE else _all(name, method, escaped))
        yield


def _one(name: str, method: Callable[..., Any], items: Leaves) -> Callable[..., Any]:
    @functools.wraps(method)
    def leaves(tensor: torch.Tensor) -> Any:
        before = items.count
        return items.left(name, tensor, before, method(tensor))
    return leaves


def _all(name: str, method: Callable[..., Any], escaped: Callable[[str], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def leave(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        escaped(name)
        return method(tensor, *args, **kwargs)
    return leave
