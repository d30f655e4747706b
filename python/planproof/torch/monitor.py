"""Monitors a training run: what it does is written to a journal, which `planproof monitor` judges.

    with planproof.torch.monitor(model, optimizer, "runs/a", every=50):
        train()

docs/monitor.md tells what is judged, docs/monitor-format.md what is written.
"""
from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Callable, Optional, Sequence, Type, Union

import torch
from torch import nn

from planproof.errors import RecordingError
from planproof.torch.monitoring.alarms import Alarm, Watcher
from planproof.torch.monitoring.audits import Audited
from planproof.torch.monitoring.session import Session
from planproof.torch.relations import Placement, Rename

_running: Optional["monitor"] = None


class monitor:  # pylint: disable=invalid-name
    """Writes the journal of this process into a directory from now on, until `close`, or as a context manager to the end of the
    block. No number of the run changes by it.

    `model`: a module or several. `optimizer`: one, several, or what wraps one. Every `every` steps norms, sketches and fingerprints
    of parameters, gradients and states are taken. `monitors`: a file that `planproof verify --monitors-out` wrote. `on_alarm`:
    "log", "raise", a callable that gets an Alarm, or None: nobody watches while the run goes on. `rename` and `placement` are
    those of `record`. `audit`: every how many steps, or in which steps, operators are recorded, for `monitors` to be compared with. RecordingError if a run is monitored already, or the directory has this process's journal of another."""

    def __init__(self, model: Union[nn.Module, Sequence[nn.Module]], optimizer: Any, directory: "Union[str, os.PathLike[str]]", *,
                 every: int = 50, monitors: "Union[None, str, os.PathLike[str]]" = None,
                 on_alarm: Union[None, str, Callable[[Alarm], None]] = "log", rename: Optional[Rename] = None,
                 placement: Optional[Placement] = None, audit: Audited = None) -> None:
        global _running
        if _running is not None:
            raise RecordingError("a run is monitored already in this process: close that monitor first")
        models = [model] if isinstance(model, nn.Module) or not isinstance(model, (list, tuple)) else list(model)
        self._session: Optional[Session] = Session(models, optimizer, os.fspath(directory), every, rename, placement, audit)
        _running = self
        self._watcher: Optional[Watcher] = None
        if on_alarm is not None and self._session.rank == 0:
            self._watch(self._session, os.fspath(directory), None if monitors is None else os.fspath(monitors), on_alarm)

    def _watch(self, session: Session, directory: str, monitors: Optional[str],
               on_alarm: Union[str, Callable[[Alarm], None]]) -> None:
        try:
            self._watcher = watcher = Watcher(directory, monitors, on_alarm)
        except BaseException:
            self.close("exception", "RecordingError")
            raise
        session.steps.when_ended.append(lambda _: watcher.dispatch())

    def loss(self, value: torch.Tensor) -> torch.Tensor:
        """Says that this is the loss, before `backward`: then backward is to start from it, and not from a part of it. Returns it."""
        if self._session is not None:
            self._session.loss(value)
        return value

    def close(self, reason: str = "closed", exception: Optional[str] = None) -> None:
        """Ends the journal and takes all hooks away. A second time does nothing."""
        global _running
        session, self._session = self._session, None
        if session is not None:
            _running = None
            session.close(reason, exception)
            watcher, self._watcher = self._watcher, None
            if watcher is not None:
                watcher.close(quietly=exception is not None)

    def __enter__(self) -> "monitor":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], _: Optional[BaseException], __: Optional[TracebackType]) -> None:
        if kind is None:
            self.close()
        else:
            self.close("exception", kind.__name__)
