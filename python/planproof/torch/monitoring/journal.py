"""Writes the file of one process in a run's directory, as docs/monitor-format.md has it."""
from __future__ import annotations

import json
import math
import os
import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import numpy
import torch

from planproof.errors import RecordingError
from planproof.torch.monitoring.sums import Sums

MAGIC, VERSION = b"PPMONIT\n", 1
#: Limits of the format.
LARGEST_PAYLOAD, LONGEST_TEXT, MOST_TEXTS = 16 << 20, 64 << 10, 1 << 20
NO_TEXT = (1 << 32) - 1
#: The position of an element that is a state of one number.
ONE_NUMBER = (1 << 64) - 1

#: A number, or a tensor of one element that is still on its device.
Number = Union[float, int, torch.Tensor]


class Kind(IntEnum):
    """Kinds of frames."""

    HEADER = 1
    TEXT = 2
    TENSORS = 3
    OPTIONS = 4
    STEP = 5
    VALUES = 6
    ELEMENTS = 7
    LATE = 8
    BATCH = 9
    CLOSE = 10
    NOT_OBSERVED = 11


class Type(IntEnum):
    """Types of events."""

    ZERO_GRAD = 1
    FORWARD_BEGINS = 2
    FORWARD_ENDS = 3
    BACKWARD = 4
    LOSS = 5
    CLIP_BY_NORM = 6
    CLIP_BY_VALUE = 7
    OPTIMIZER_BEGINS = 8
    OPTIMIZER_ENDS = 9
    STEP_LEFT_OUT = 10
    SCHEDULER_STEP = 11
    LEARNING_RATE = 12
    COLLECTIVE = 13
    LOSS_SCALE = 14
    STATE_READ = 15
    STATE_LOADED = 16
    PARAMETER_CHANGED = 17
    LOSS_FUNCTION = 18
    MODULE_OUTPUT = 19
    AVERAGED = 20


class Moment(IntEnum):
    """When value facts were taken."""

    BEGIN = 0
    CLIP = 1
    BEFORE = 2
    AFTER = 3
    BACKWARD = 4


class Event:
    """One code fact."""

    __slots__ = ("type", "flags", "subject", "a", "b", "c")

    def __init__(self, type: Type, flags: int = 0, subject: Optional[str] = None, a: Number = 0.0, b: Number = 0.0,
                 c: Number = 0) -> None:
        self.type, self.flags, self.subject, self.a, self.b, self.c = type, flags, subject, a, b, c


#: Gives what is still on its way from a device, or None; waits for it if it is called with True.
Pending = Callable[[bool], Optional[Any]]


@dataclass
class Columns:
    """Value facts of one set of tensors: `tensors` are numbers in the table; `sums` are as many norms, sketches and fingerprints."""

    step: int
    moment: Moment
    table: int
    set: str
    tensors: Sequence[int]
    sums: Optional[Sums]
    pending: Optional[Pending] = None

    def resolve(self, wait: bool) -> bool:
        """Whether the sums are here."""
        if self.sums is None and self.pending is not None:
            self.sums = self.pending(wait)
        return self.sums is not None


@dataclass
class Elements:
    """Single elements of a set."""

    step: int
    moment: Moment
    table: int
    set: str
    tensors: List[int] = field(default_factory=list)
    positions: List[int] = field(default_factory=list)
    values: Optional[List[float]] = field(default_factory=list)
    pending: Optional[Pending] = None

    def resolve(self, wait: bool) -> bool:
        """Whether the values are here."""
        if self.pending is not None:
            self.values = self.pending(wait)
            if self.values is not None:
                self.pending = None
        return self.values is not None


@dataclass
class Frame:
    """A frame of JSON."""

    kind: Kind
    content: Optional[Dict[str, Any]]
    pending: Optional[Pending] = None

    def resolve(self, wait: bool) -> bool:
        """Whether the content is here."""
        if self.content is None and self.pending is not None:
            self.content = self.pending(wait)
        return self.content is not None


Fact = Union[Columns, Elements, Frame]


_EVENT = struct.Struct("<HHIddq")
_FRAME = struct.Struct("<IB")


def path_of(directory: str, rank: int) -> str:
    """Where a rank's journal is."""
    return os.path.join(directory, f"rank{rank:05d}.journal")


class Journal:
    """A journal that is being written. Frames are gathered and written by `flush`, so that a reader never waits for the rest of a step."""

    def __init__(self, directory: str, rank: int) -> None:
        self.path = path_of(directory, rank)
        os.makedirs(directory, exist_ok=True)
        try:
            self._file = open(self.path, "xb", buffering=0)
        except FileExistsError:
            raise RecordingError(f"{self.path} is the journal of another run: name another directory") from None
        self._texts: Dict[str, int] = {}
        self._tables = 0
        self._waiting: List[bytes] = [MAGIC, struct.pack("<I", VERSION)]

    def frame(self, kind: Kind, payload: bytes) -> None:
        """Adds a frame. One that is too long is left out: tables of so many tensors are refused before."""
        if len(payload) > LARGEST_PAYLOAD:
            raise RecordingError(f"a journal's frame has at most {LARGEST_PAYLOAD} bytes, this has {len(payload)}: monitor fewer tensors")
        head = _FRAME.pack(len(payload), kind)
        check = zlib.crc32(payload, zlib.crc32(head[4:]))
        self._waiting += (head, payload, struct.pack("<I", check))

    def json(self, kind: Kind, content: Mapping[str, Any]) -> None:
        """Adds a frame whose payload is JSON."""
        self.frame(kind, json.dumps(content, separators=(",", ":"), allow_nan=False).encode())

    def text(self, text: Optional[str]) -> int:
        """The number of a text, which is written when it is first used. Texts beyond the limits are none."""
        if text is None:
            return NO_TEXT
        number = self._texts.get(text)
        if number is None:
            if len(self._texts) >= MOST_TEXTS:
                return NO_TEXT
            number = self._texts[text] = len(self._texts)
            encoded = text.encode("utf-8", "replace")[:LONGEST_TEXT]
            self.frame(Kind.TEXT, encoded.decode("utf-8", "ignore").encode())
        return number

    def tensors(self, table: Sequence[Mapping[str, Any]]) -> int:
        """Writes a table; its number."""
        self.json(Kind.TENSORS, {"tensors": list(table)})
        self._tables += 1
        return self._tables - 1

    def step(self, step: int, time: int, flags: int, events: Sequence[Event]) -> None:
        """Writes code facts of a step. Numbers of events are on the host."""
        known, pack = self._texts, _EVENT.pack
        packed = [pack(event.type, event.flags, known[event.subject] if event.subject in known else self.text(event.subject),
                       event.a, event.b, _integer(event.c)) for event in events]
        self.frame(Kind.STEP, struct.pack("<QQII", step, time, len(packed), flags) + b"".join(packed))

    def values(self, columns: Columns) -> None:
        """Writes value facts of a set."""
        sums = columns.sums
        assert sums is not None
        head = struct.pack("<QBIII", columns.step, columns.moment, columns.table, self.text(columns.set), len(columns.tensors))
        self.frame(Kind.VALUES, b"".join((
            head, numpy.asarray(columns.tensors, "<u4").tobytes(), sums.norms.astype("<f8").tobytes(),
            numpy.ascontiguousarray(sums.sketches, "<f8").tobytes(), sums.fingerprints.astype("<u8").tobytes())))

    def elements(self, elements: Elements) -> None:
        """Writes single elements of a set."""
        head = struct.pack("<QBIII", elements.step, elements.moment, elements.table, self.text(elements.set), len(elements.tensors))
        self.frame(Kind.ELEMENTS, b"".join((
            head, numpy.asarray(elements.tensors, "<u4").tobytes(), numpy.asarray(elements.positions, "<u8").tobytes(),
            numpy.asarray(elements.values, "<f8").tobytes())))

    def fact(self, fact: Fact) -> None:
        """Writes a fact that is here."""
        if isinstance(fact, Columns):
            self.values(fact)
        elif isinstance(fact, Elements):
            self.elements(fact)
        else:
            assert fact.content is not None
            self.json(fact.kind, fact.content)

    def flush(self) -> None:
        """Hands what was added to the system: it is kept if this process is killed."""
        if self._waiting:
            waiting, self._waiting = b"".join(self._waiting), []
            written = self._file.write(waiting)
            while written < len(waiting):
                written += self._file.write(memoryview(waiting)[written:])

    def close(self) -> None:
        """Writes what is left."""
        self.flush()
        self._file.close()


def _integer(number: Number) -> int:
    value = int(number)
    return value - (1 << 64) if value >= 1 << 63 else value


def plain_number(value: Any) -> Any:
    """An option of an optimizer as JSON has it: numbers, truth values, texts, lists of numbers. What JSON lacks is a text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (tuple, list)) and all(isinstance(each, (int, float)) for each in value):
        return [plain_number(each) for each in value]
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type == "cpu":
        return plain_number(value.item())
    return type(value).__name__
