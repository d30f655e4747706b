"""The step of a run that is under way: its events and value facts, until they are in the journal."""
from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from typing import Any, Callable, Deque, FrozenSet, List, Optional, Sequence, Set, Tuple

import torch

from planproof.torch.monitoring.device_sums import Fetched
from planproof.torch.monitoring.journal import Event, Fact, Frame, Journal, Number, Type

#: The first steps of a process are sampled, whatever `every` is.
FIRST_SAMPLED = 2
SAMPLED, LEFT_OUT = 1, 2

#: Steps that may be on their way from a device; then the oldest is waited for.
MOST_WAITING = 16
#: Steps without value facts are written together: for how long (ns) they are held back, and how many, fewer than may be waited for.
LONGEST_HELD, MOST_HELD = 50_000_000, 8


def on_host(number: Any) -> Number:
    """A number of the run as an event has it: of a tensor on another device a copy there, which is fetched with the step."""
    if not isinstance(number, torch.Tensor):
        return float(number)
    if type(number) is torch.Tensor and number.is_cpu:
        return float(number.item())
    value = number.detach()
    value = value.to_local() if hasattr(value, "to_local") else value
    if value.device.type == "cpu":
        return float(value)
    return value.to(torch.float64, copy=True).reshape(())


class Steps:
    """Numbers steps, decides which are sampled, and writes them."""

    def __init__(self, journal: Journal, every: int) -> None:
        self.journal, self.every = journal, every
        self.number = 0
        #: Whether the step, and the next one, have value facts.
        self.sampled, self.before_sampled = self.is_sampled(0), self.is_sampled(1)
        self.events: List[Event] = []
        self.facts: List[Fact] = []
        self._waiting: Deque[_Written] = deque()
        self._drained = 0
        #: Whether a number of an event was on a device: then all events of each step are looked through.
        self._on_device = False
        self._start = time.perf_counter_ns()
        self._stepped: Set[int] = set()
        self._known_iterations: Set[FrozenSet[int]] = set()
        self._mark: Tuple[int, int] = (0, 0)
        #: Of an optimizer that leaves its step out by itself: not 0 if it does.
        self.overflow: Optional[torch.Tensor] = None
        #: Gives a fact of the step that is about to be written, or None.
        self.last_fact: Callable[[int], Optional[Fact]] = lambda _: None
        #: Called when a step has ended, with its number.
        self.when_ended: List[Callable[[int], None]] = []

    def is_sampled(self, number: int) -> bool:
        return number % self.every == 0 or number < FIRST_SAMPLED

    def between(self) -> bool:
        """Whether no optimizer has stepped yet in this step."""
        return not self._stepped

    def add(self, type: Type, flags: int = 0, subject: Optional[str] = None, a: Number = 0.0, b: Number = 0.0,
            c: Number = 0) -> Event:
        if a.__class__ is not float or b.__class__ is not float:
            self._on_device = self._on_device or isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor)
        event = Event(type, flags, subject, a, b, c)
        self.events.append(event)
        return event

    def optimizer_begins(self, index: int) -> None:
        """An optimizer that steps a second time begins a new step: that of the last optimizer's end was the last one's end."""
        if index in self._stepped:
            self._known_iterations.add(frozenset(self._stepped))
            self._split()

    def optimizer_ended(self, index: int, count: int, left_out: bool = False) -> None:
        """An optimizer has stepped, or left its step out. The step ends if all of `count` optimizers have, or those that
        made up an iteration before."""
        self._stepped.add(index)
        self._mark = len(self.events), len(self.facts)
        if len(self._stepped) >= count or frozenset(self._stepped) in self._known_iterations:
            events, facts, self.events, self.facts = self.events, self.facts, [], []
            self._write(events, facts, left_out)

    def _split(self) -> None:
        """Ends the step at its last optimizer's end; what came after that is of the next."""
        events, facts = self._mark
        own = self.events[:events], self.facts[:facts]
        self.events, self.facts = self.events[events:], [_renumbered(each, self.number + 1) for each in self.facts[facts:]]
        self._write(*own, False)

    def _write(self, events: Sequence[Event], facts: Sequence[Fact], left_out: bool) -> None:
        flags, now = LEFT_OUT if left_out else 0, time.perf_counter_ns() - self._start
        if self.sampled:
            last = self.last_fact(self.number)
            flags, facts = flags | SAMPLED, [*facts, last] if last is not None else facts
        self._waiting.append(_Written(self.number, now, flags, events, facts, self.overflow, self._on_device))
        self.overflow = None
        if self.sampled or facts or now - self._drained >= LONGEST_HELD or len(self._waiting) >= MOST_HELD:
            self._drained = now
            self.drain()
        self._stepped = set()
        self.number += 1
        self.sampled, self.before_sampled = self.before_sampled, self.is_sampled(self.number + 1)
        for call in self.when_ended:
            call(self.number - 1)

    def drain(self, wait: bool = False) -> None:
        """Writes steps, in order, as far as all of their facts have arrived."""
        while self._waiting and self._waiting[0].resolve(wait or len(self._waiting) > MOST_WAITING):
            step = self._waiting.popleft()
            for fact in step.facts:
                self.journal.fact(fact)
            self.journal.step(step.number, step.time, step.flags, step.events)
        self.journal.flush()

    def finish(self) -> None:
        """Writes what has followed the last step's end."""
        if self.events or self.facts:
            events, facts, self.events, self.facts = self.events, self.facts, [], []
            self._write(events, facts, False)
        self.drain(True)


class _Written:
    """A step that has ended, until its facts have arrived from the device. Numbers of events come together."""

    def __init__(self, number: int, time: int, flags: int, events: Sequence[Event], facts: Sequence[Fact],
                 overflow: Optional[torch.Tensor], on_device: bool) -> None:
        self.number, self.time, self.flags, self.events, self.facts = number, time, flags, events, facts
        self._places = [(event, name) for event in events for name in ("a", "b")
                        if isinstance(getattr(event, name), torch.Tensor)] if on_device else []
        self._overflow = Fetched(overflow.detach().reshape(())) if isinstance(overflow, torch.Tensor) and overflow.numel() == 1 else None
        self._numbers = Fetched(torch.stack([getattr(event, name) for event, name in self._places])) if self._places else None

    def resolve(self, wait: bool) -> bool:
        """Whether everything is here."""
        if not all([fact.resolve(wait) for fact in self.facts]):
            return False
        if self._numbers is not None:
            if not wait and not self._numbers.ready():
                return False
            for (event, name), number in zip(self._places, self._numbers.numbers()):
                setattr(event, name, float(number))
            self._numbers = None
        if self._overflow is not None:
            if not wait and not self._overflow.ready():
                return False
            self.flags |= LEFT_OUT if self._overflow.numbers() else 0
        return True


def _renumbered(fact: Fact, step: int) -> Fact:
    return fact if isinstance(fact, Frame) else replace(fact, step=step)
