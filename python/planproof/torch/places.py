"""Where in a program an operator comes from: source line, module, phase."""
from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from contextlib import ExitStack, contextmanager
from enum import Enum
from types import FrameType
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SELF = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.abspath(sysconfig.get_paths()["stdlib"]) + os.sep
_PACKAGES = tuple(os.path.abspath(sysconfig.get_paths()[key]) + os.sep
                  for key in ("purelib", "platlib"))
_ENGINE = os.path.join(_TORCH, "autograd", "graph.py")
#: Frames between the dispatcher and a mode's Python code.
_DISPATCH = (_SELF, os.path.join(_TORCH, "_compile.py"), os.path.join(_TORCH, "_dynamo") + os.sep)
#: DistributedDataParallel calls C++ that communicates.
_REDUCER = os.path.join(_TORCH, "nn", "parallel", "distributed.py")

_named_phase: List[str] = []


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Operators recorded within are of this phase, whatever they would be otherwise."""
    _named_phase.append(name)
    try:
        yield
    finally:
        _named_phase.pop()


class _Kind(Enum):
    """What a file of Python code is for one who looks for a place in the program."""

    PROGRAM = 1
    FRAMEWORK = 2
    DISPATCH = 3
    ENGINE = 4
    REDUCER = 5


class Place(NamedTuple):
    """Where an operator comes from, as far as it is known."""

    source: Optional[str]
    module: Optional[str]
    phase: str
    native: bool  # called by C++ of autograd or of DistributedDataParallel, not by Python


class Places:
    """Follows a program while its step runs."""

    def __init__(self, modules: Dict[int, str], parameters: Dict[int, str],
                 hidden: Iterable[str] = ()) -> None:
        self._modules = modules  # by id
        self._parameters = parameters
        self._hidden = tuple(hidden)
        self._stack: List[str] = []
        self._by_sequence: Dict[int, Tuple[Optional[str], Optional[str]]] = {}
        self._kinds: Dict[str, _Kind] = {}
        self._in_optimizer = 0
        self._after_backward = False

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Hooks of modules and optimizers are in place."""
        with ExitStack() as stack:
            for handle in (
                    module_hooks.register_module_forward_pre_hook(self._enter),
                    module_hooks.register_module_forward_hook(self._leave, always_call=True),
                    optimizer_hooks.register_optimizer_step_pre_hook(self._start),
                    optimizer_hooks.register_optimizer_step_post_hook(self._stop)):
                stack.callback(handle.remove)
            yield

    def _enter(self, module: torch.nn.Module, _: Any) -> None:
        outer = self._stack[-1] if self._stack else ""
        self._stack.append(self._modules.get(id(module), outer))

    def _leave(self, *_: Any) -> None:
        if self._stack:
            self._stack.pop()

    def _start(self, *_: Any) -> None:
        self._in_optimizer += 1

    def _stop(self, *_: Any) -> None:
        self._in_optimizer -= 1

    def current(self) -> Place:
        """The place of the operator that is being dispatched."""
        backward = torch._C._current_graph_task_id() != -1
        source, through_engine, native = self._line(sys._getframe(1))
        module = self._stack[-1] if self._stack else None
        if not backward:
            self._by_sequence.setdefault(torch._C._autograd._get_sequence_nr() - 1,
                                         (source, module))
            return Place(source, module, self._phase(False), native)
        self._after_backward = True
        if not through_engine:
            # The Python frames between are of an autograd function, a hook or recomputation.
            return Place(source, module or self._forward()[1], self._phase(True), False)
        line, named = self._forward()
        return Place(line or source, module or named, self._phase(True), native)

    def _phase(self, backward: bool) -> str:
        if _named_phase:
            return _named_phase[-1]
        if backward:
            return "backward"
        if self._in_optimizer:
            return "optimizer"
        # Clipping, scaling and the like stand between the backward pass and the optimizer.
        after = self._after_backward and not torch.is_grad_enabled() and not self._stack
        return "optimizer" if after else "forward"

    def _forward(self) -> Tuple[Optional[str], Optional[str]]:
        """Place of the operator of the forward pass whose gradient is being computed."""
        node = torch._C._current_autograd_node()
        if node is None:
            return None, None
        variable = getattr(node, "variable", None)
        if variable is not None:
            name = self._parameters.get(id(variable), "")
            return None, name.rpartition(".")[0] or None
        return self._by_sequence.get(node._sequence_nr(), (None, None))

    def _line(self, frame: Optional[FrameType]) -> Tuple[Optional[str], bool, bool]:
        """The innermost frame of the program, whether the autograd engine is inside of it, and
        whether C++ called the operator."""
        through_engine, caller = False, None
        while frame is not None:
            path = frame.f_code.co_filename
            kind = self._kinds.get(path) or self._kinds.setdefault(path, self._kind(path))
            if caller is None and kind is not _Kind.DISPATCH:
                caller = kind
            if kind is _Kind.PROGRAM:
                text = linecache.getline(path, frame.f_lineno, frame.f_globals).strip()
                return f"{_shortened(path)}:{frame.f_lineno}: {text}", through_engine, \
                    caller in (_Kind.ENGINE, _Kind.REDUCER)
            through_engine = through_engine or kind is _Kind.ENGINE
            frame = frame.f_back
        return None, through_engine, False

    def _kind(self, path: str) -> _Kind:
        absolute = os.path.abspath(path)
        if absolute.startswith(_DISPATCH):
            return _Kind.DISPATCH
        if absolute == _ENGINE:
            return _Kind.ENGINE
        if absolute == _REDUCER:
            return _Kind.REDUCER
        standard = absolute.startswith(_STANDARD) and not absolute.startswith(_PACKAGES)
        hidden = any(absolute.startswith(os.path.join(base, name) + os.sep)
                     for base in _PACKAGES for name in self._hidden)
        foreign = path.startswith("<") or absolute.startswith(_TORCH) or standard or hidden
        return _Kind.FRAMEWORK if foreign else _Kind.PROGRAM


def _shortened(path: str) -> str:
    absolute = os.path.abspath(path)
    for base in (os.getcwd().rstrip(os.sep) + os.sep, *_PACKAGES):
        if absolute.startswith(base):
            return absolute[len(base):]
    return absolute
