"""Methods of tensors that give numbers to Python, replaced while a step is recorded.

They are replaced in the class, so that they are seen wherever they are called: within functions of torch's, in hooks, and in
threads."""
from __future__ import annotations

import functools
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator, Protocol

import torch

from planproof.torch.tagged import Tagged, plain

#: Methods that give one number.
_ONE = ("item", "__float__", "__int__", "__index__", "__bool__", "__complex__")
#: Methods that give all elements, which are not followed.
_ALL = ("tolist", "numpy", "__dlpack__", "__reduce_ex__")
METHODS = (*_ONE, *_ALL)
#: Functions of TorchScript, which get numbers past torch's functions.
_SCRIPTED = (torch._C.ScriptFunction, torch._C.ScriptMethod)


class Leaves(Protocol):
    """Who follows numbers that leave."""

    count: int

    def left(self, name: str, tensor: torch.Tensor, before: int, value: Any) -> Any:
        """What a method of a tensor gives to Python, when so many items had left before."""

    def lost(self, way: str, value: Any, expression: Any) -> None:
        """A number goes on as a plain one."""


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
        for kind in _SCRIPTED:
            stack.callback(setattr, kind, "__call__", kind.__call__)
            setattr(kind, "__call__", _scripted(kind.__call__, items))
        yield


def _one(name: str, method: Callable[..., Any], items: Leaves) -> Callable[..., Any]:
    @functools.wraps(method)
    def leaves(tensor: torch.Tensor) -> Any:
        if torch._guards.TracingContext.try_get() is not None:
            return method(tensor)  # torch.compile looks at what it traces; the program gets nothing of it
        before = items.count
        return items.left(name, tensor, before, method(tensor))
    return leaves


def _all(name: str, method: Callable[..., Any], escaped: Callable[[str], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def leave(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        escaped(name)
        return method(tensor, *args, **kwargs)
    return leave


def _scripted(call: Callable[..., Any], items: Leaves) -> Callable[..., Any]:
    @functools.wraps(call)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for each in (*args, *kwargs.values()):
            if isinstance(each, Tagged):
                items.lost("torch.jit", plain(each), each.origin)
        return call(self, *args, **kwargs)
    return method
