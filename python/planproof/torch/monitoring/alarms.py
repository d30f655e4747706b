"""Follows the run that is monitored by `planproof monitor check`, and hands its alarms to the program."""
from __future__ import annotations

import json
import logging
import queue
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional, Union

from planproof.binary import find_binary
from planproof.errors import BinaryNotFound, PlanproofError, RecordingError

_LOG = logging.getLogger("planproof.monitor")

#: How long the end of the command is waited for when a run has ended, in seconds.
LONGEST_WAIT = 10.0
#: Longer lines are no alarms.
LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Alarm:
    """Something that does not hold in a run: `tier` is "proved", "derived", "law" or "learned", `ranks` is empty for all,
    `place` is "file:line" if it is known."""

    tier: str
    rule: str
    step: int
    subject: str
    statement: str
    ranks: List[int] = field(default_factory=list)
    expected: Optional[float] = None
    found: Optional[float] = None
    place: str = ""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        ranks = f" on ranks {', '.join(map(str, self.ranks))}" if self.ranks else ""
        return f"step {self.step}{ranks}: {self.subject}: {self.statement}{where} [{self.tier}: {self.rule}]"


class RunAlarm(PlanproofError, RuntimeError):
    """A run does what it must not do, and was to be ended then."""

    def __init__(self, alarm: Alarm) -> None:
        self.alarm = alarm
        super().__init__(str(alarm))


OnAlarm = Union[None, str, Callable[[Alarm], None]]


def decoded(line: str) -> Optional[Alarm]:
    """The alarm of a line of the command's output; None if it is none."""
    try:
        content = json.loads(line)["alarm"]
        return Alarm(tier=str(content["tier"]), rule=str(content["rule"]), step=int(content["step"]),
                     subject=str(content.get("subject", "")), statement=str(content.get("statement", "")),
                     ranks=[int(each) for each in content.get("ranks") or []], expected=_number(content.get("expected")),
                     found=_number(content.get("found")), place=str(content.get("place") or ""))
    except (ValueError, KeyError, TypeError):
        return None


def _number(value: Any) -> Optional[float]:
    return None if value is None else float(value)


class Watcher:
    """The command, on rank 0. Alarms are handed over by `dispatch`, in the thread that trains."""

    def __init__(self, directory: str, monitors: Optional[str], on_alarm: OnAlarm) -> None:
        if on_alarm not in ("log", "raise") and not callable(on_alarm):
            raise RecordingError('on_alarm is "log", "raise", a callable or None')
        self._on_alarm = on_alarm
        self._waiting: "queue.SimpleQueue[Alarm]" = queue.SimpleQueue()
        self._process: Optional["subprocess.Popen[str]"] = None
        command = ["monitor", "check", directory, "--follow", "--json", "-"]
        if monitors is not None:
            command += ["--monitors", monitors]
        try:
            self._process = subprocess.Popen([find_binary(), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace")
        except (BinaryNotFound, OSError) as reason:
            _LOG.warning("nobody watches the run %s while it goes on: %s", directory, reason)
            return
        self._thread = threading.Thread(target=self._read, name="planproof-monitor", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while True:
            line = self._process.stdout.readline(LONGEST_LINE)
            if not line:
                return
            alarm = decoded(line)
            if alarm is not None:
                self._waiting.put(alarm)

    def dispatch(self) -> None:
        """Hands over what has arrived. RunAlarm if alarms are to be raised."""
        while not self._waiting.empty():
            alarm = self._waiting.get()
            if callable(self._on_alarm):
                self._on_alarm(alarm)
            elif self._on_alarm == "raise":
                raise RunAlarm(alarm)
            else:
                _LOG.error("%s", alarm)

    def close(self, quietly: bool) -> None:
        """Waits for the command's end, now that the journal has one. `quietly`: an exception ends the run already."""
        if self._process is None:
            return
        try:
            self._process.wait(LONGEST_WAIT)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()
        self._thread.join(LONGEST_WAIT)
        if self._process.stdout is not None and not self._thread.is_alive():
            self._process.stdout.close()
        self._process = None
        try:
            self.dispatch()
        except RunAlarm as alarm:
            if not quietly:
                raise
            _LOG.error("%s", alarm)
