"""Python code of the program that torch runs while the program waits for one of torch's functions: hooks and backward
functions in the autograd engine, hooks of saved tensors, and what the program starts in other threads."""
from __future__ import annotations

import concurrent.futures.thread
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, ContextManager, Iterator

import torch
from torch.autograd.variable import Variable

Again = Callable[[], ContextManager[None]]


class _Engine:
    """The autograd engine, whose Python code is the program's."""

    def __init__(self, engine: Any, again: Again) -> None:
        self._engine, self._again = engine, again

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        """As the engine's."""
        with self._again():
            return self._engine.run_backward(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@contextmanager
def program_is_reentered(again: Again) -> Iterator[None]:
    """Python code that the autograd engine runs, and hooks of tensors that are saved for it, run within `again()`."""
    engine, graph = Variable._execution_engine, torch._C._autograd
    push = graph._push_saved_tensors_default_hooks

    def push_hooks(pack: Callable[..., Any], unpack: Callable[..., Any]) -> Any:
        return push(_within(again, pack), _within(again, unpack))

    with ExitStack() as stack:
        stack.callback(setattr, Variable, "_execution_engine", engine)
        stack.callback(setattr, graph, "_push_saved_tensors_default_hooks", push)
        setattr(Variable, "_execution_engine", _Engine(engine, again))
        setattr(graph, "_push_saved_tensors_default_hooks", push_hooks)
        yield


def _within(again: Again, function: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        with again():
            return function(*args)
    return hook


@contextmanager
def threads_are_followed(entered: Again) -> Iterator[None]:
    """What threads run that the program starts, and what it has executors run in threads that were there before, runs within
    `entered()`."""
    followed = threading.local()
    followed.is_so = True  # this thread

    def following(plain: Callable[..., Any]) -> Callable[..., Any]:
        def method(*args: Any, **kwargs: Any) -> Any:
            if getattr(followed, "is_so", False):
                return plain(*args, **kwargs)
            followed.is_so = True
            try:
                with entered():
                    return plain(*args, **kwargs)
            finally:
                followed.is_so = False
        return method

    with ExitStack() as stack:
        for kind, name in ((threading.Thread, "_bootstrap_inner"), (concurrent.futures.thread._WorkItem, "run")):
            stack.callback(setattr, kind, name, getattr(kind, name))
            setattr(kind, name, following(getattr(kind, name)))
        yield
