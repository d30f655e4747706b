"""Runs traces alone and compares with what was recorded: `python -m planproof.torch.replay DIRECTORY`.

All that a replay has is the log: what storages held before the step, operators in order, collectives by
their definition. If something that matters is missing in the log, results differ."""
from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy
import torch
from torch.utils._pytree import tree_leaves

from planproof.errors import RecordingError
from planproof.torch.cpu_kernels import separate_steps
from planproof.torch.counted import in_log
from planproof.torch.exchange import Key, Meetings, Posted, lane_of
from planproof.torch.memory import CONJUGATE, NEGATIVE, content
from planproof.torch.sketches import OperatorSketches
from planproof.torch.trace_file import Path, digest, load, read_number, values_path


#: Operators that give memory without contents.
_NOTHING = ("aten.empty", "aten.new_empty")
#: Modules with operators of other namespaces.
_REGISTERED_BY = {"fsdp": "torch.distributed.fsdp", "torchtitan": "torchtitan.ops.scatter_add"}


@dataclass
class Outcome:
    """What was compared, and what differs."""

    compared: int = 0
    differences: List[str] = field(default_factory=list)
    #: Groups of whose collectives another number is in the log than was recorded.
    miscounted: List[str] = field(default_factory=list)
    #: The first operators, one of each rank, whose results are not the recorded ones; only looked for by `locate`.
    first: List[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether all results are the recorded ones, bit for bit, and no collective is missing."""
        return not self.differences and not self.miscounted

    def summary(self) -> str:
        """One line."""
        if self.differences:
            return f"{len(self.differences)} of {self.compared} results differ: {self.differences[0]}"
        if self.miscounted:
            return f"{self.compared} results, all as recorded, but {self.miscounted[0]}"
        return f"{self.compared} results, all as recorded"

    def add(self, other: "Outcome") -> None:
        """Takes another one's in."""
        self.compared += other.compared
        self.differences += other.differences
        self.miscounted += other.miscounted


class _Rank:
    """One trace while it runs."""

    _sketched = OperatorSketches()

    def __init__(self, trace: Mapping[str, Any], values: Mapping[str, numpy.ndarray],
                 meetings: Meetings) -> None:
        self.trace, self.values, self.meetings = trace, values, meetings
        self.storages = [self._storage(index, entry)
                         for index, entry in enumerate(trace["storages"])]
        self.generator = torch.from_numpy(values["generator"].copy())
        # Operators without a type make tensors of the program's default type.
        said = values.get("default_dtype")
        self.default_dtype = torch.get_default_dtype() if said is None else getattr(torch, said.tobytes().decode())
        self.works: Dict[int, Posted] = {}
        self.sketches: Optional[Dict[Tuple[int, int], numpy.ndarray]] = None
        self.label = f"rank {trace['rank']}" if trace["world"] > 1 else "reference"

    def _storage(self, index: int, entry: Mapping[str, Any]) -> torch.UntypedStorage:
        dtype = getattr(torch, entry["dtype"])
        held = torch.zeros(entry["size"], dtype=dtype)
        if dtype.is_floating_point:
            held.fill_(float("nan"))  # what is read before it is written shows
        data = self.values.get(f"storage_{index}")
        if data is not None:
            held.view(torch.uint8)[:len(data)] = torch.from_numpy(data.copy())
        return held.untyped_storage()

    def view(self, number: int) -> torch.Tensor:
        storage, dtype, offset, shape, strides, *flags = self.trace["tensors"][number]
        tensor = torch.empty(0, dtype=getattr(torch, dtype))
        tensor.set_(self.storages[storage], offset, shape, strides)
        flag = flags[0] if flags else 0
        if flag & CONJUGATE:
            tensor = torch._conj(tensor)
        return torch._neg_view(tensor) if flag & NEGATIVE else tensor

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "tensor" in value:
            return self.view(value["tensor"])
        if "dtype" in value:
            return getattr(torch, value["dtype"])
        if "value" in value:
            return read_number(value["value"])
        if "complex" in value:
            return complex(*map(read_number, value["complex"]))
        if "other" in value:
            return getattr(torch, value["other"].replace("torch.", ""), None) \
                if value["other"].startswith("torch.") else torch.device(value["other"])
        return read_number(value)

    def run(self, outcome: Outcome) -> Iterator[None]:
        """Runs the log; pauses where it waits for other ranks."""
        for position, entry in enumerate(self.trace["operators"]):
            if "wait" in entry:
                yield from self._finish(self.works.pop(entry["wait"]))
            elif "collective" in entry:
                yield from self._communicate(entry)
            else:
                self._compute(position, entry, outcome)
                if self.sketches is not None and self._differs(position, entry):
                    outcome.first.append(f"{self.label}: {entry['op']}{self._place(entry)}")
                    self.sketches = None

    def locate(self) -> None:
        """Has `run` tell the first operator whose result is not the recorded one."""
        places, rows = self.values.get("sketch_places"), self.values.get("sketches")
        if places is not None and rows is not None:
            self.sketches = {(int(place[0]), int(place[1])): row for place, row in zip(places, rows)}

    def _differs(self, position: int, entry: Mapping[str, Any]) -> bool:
        assert self.sketches is not None
        for index, number in enumerate(_tensors(entry["out"])):
            recorded = self.sketches.get((position, index))
            if recorded is not None and not numpy.array_equal(recorded, self._sketched.sketch(self.view(number))):
                return True
        return False

    def _place(self, entry: Mapping[str, Any]) -> str:
        return f" at {self.trace['strings'][entry['source']]}" if "source" in entry else ""

    def _communicate(self, entry: Dict[str, Any]) -> Iterator[None]:
        posted = Posted(self.trace["rank"], entry,
                        [self.view(number).clone() for number in entry["in"]],
                        [self.view(number) for number in entry["out"]])
        self.meetings.post(posted, self.trace["groups"][entry["group"]])
        if "work" in entry:
            self.works[entry["work"]] = posted
        else:
            yield from self._finish(posted)

    def _finish(self, posted: Posted) -> Iterator[None]:
        while posted.received is None:
            yield
        posted.deliver()

    def _compute(self, position: int, entry: Mapping[str, Any], outcome: Outcome) -> None:
        if entry["op"].startswith(_NOTHING):
            return  # the allocator could give memory that happens to hold what is missing
        func = _operator(entry["op"])
        args = [self._value(each) for each in entry.get("args", [])]
        kwargs = {key: self._value(each) for key, each in entry.get("kwargs", {}).items()}
        own = self.values.get(f"generator_{position}")
        torch.set_rng_state(self.generator if own is None else torch.from_numpy(own.copy()))
        plain = torch.get_default_dtype()
        torch.set_default_dtype(self.default_dtype)
        try:
            result = func(*args, **kwargs)
        finally:
            torch.set_default_dtype(plain)
        self.generator = torch.get_rng_state()
        if "item" in entry:
            outcome.compared += 1
            recorded = read_number(entry["out"][0])
            if result != recorded and not (result != result and recorded != recorded):
                outcome.differences.append(f"{self.label}: item {entry['item']}")
            return
        results = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        for produced, number in zip(results, _tensors(entry["out"])):
            target = self.view(number)
            if produced.untyped_storage()._cdata != target.untyped_storage()._cdata:
                _assign(target, produced)

    def results(self) -> Iterator[Tuple[Mapping[str, Any], numpy.ndarray, numpy.ndarray]]:
        """What each result is, its bytes now, and those that were recorded."""
        for index, entry in enumerate(self.trace["results"]):
            yield entry, content(self.view(entry["tensor"])).numpy(), self.values[f"result_{index}"]

    def compare(self, outcome: Outcome) -> None:
        """The results against the recorded ones."""
        for entry, now, recorded in self.results():
            outcome.compared += 1
            if not numpy.array_equal(now, recorded):
                outcome.differences.append(f"{self.label}: {entry['kind']} {entry['name']}")
        for ranks, now, recorded in zip(self.trace["groups"], in_log(self.trace), self.values["collectives"]):
            if now != recorded:
                outcome.miscounted.append(f"{self.label}: {now} collectives of the group of ranks {ranks}, "
                                          f"{recorded} were recorded")


def _operator(full_name: str) -> Any:
    """An operator by its name; packages register their own when they are imported."""
    namespace, name, overload = full_name.split(".")
    if namespace in _REGISTERED_BY and not hasattr(getattr(torch.ops, namespace), name):
        importlib.import_module(_REGISTERED_BY[namespace])
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def _tensors(value: Any) -> Iterator[int]:
    for each in value:
        if isinstance(each, list):
            yield from _tensors(each)
        elif isinstance(each, dict) and "tensor" in each:
            yield each["tensor"]


def _assign(target: torch.Tensor, value: torch.Tensor) -> None:
    """Copies; an expanded target holds each element once."""
    for dim, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[dim] > 1:
            target, value = target.narrow(dim, 0, 1), value.narrow(dim, 0, 1)
    target.copy_(value)


Values = Mapping[str, numpy.ndarray]


def run_together(traces: Sequence[Tuple[Mapping[str, Any], Values]], locate: bool = False) -> Tuple[List[_Rank], Outcome]:
    """Runs the traces of a job (or of the reference) in lockstep: the ranks with what their memory then holds, and the
    numbers read from tensors that are not the recorded ones. `locate`: also the first operators with other results."""
    meetings, outcome = Meetings(), Outcome()
    ranks = [_Rank(trace, values, meetings) for trace, values in traces]
    for rank in ranks if locate else ():
        rank.locate()
    running: List[Tuple[_Rank, Iterator[None]]] = [(rank, rank.run(outcome)) for rank in ranks]
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad(), separate_steps():
            while running:
                count, posted = len(running), sum(meetings.counts.values())
                running = [each for each in running if next(each[1], running) is None]
                if len(running) == count and sum(meetings.counts.values()) == posted:
                    names = ", ".join(rank.label for rank, _ in running)
                    raise RecordingError(f"{names}: waits for communication that nobody posts")
    finally:
        torch.set_rng_state(before)
        torch.set_num_threads(threads)
    return ranks, outcome


def replay_together(traces: Sequence[Tuple[Mapping[str, Any], Values]]) -> Outcome:
    """Runs them, and compares the results with the recorded ones."""
    ranks, outcome = run_together(traces)
    for rank in ranks:
        rank.compare(outcome)
    return outcome


def confirm(jobs_of_paths: Sequence[Sequence[Path]]) -> None:
    """Replays jobs that have just been recorded. Raises RecordingError unless each log alone gives what was recorded, bit for
    bit: a verdict on another program than ran would say nothing."""
    for paths in jobs_of_paths:
        traces = [read(path) for path in paths]
        try:
            outcome = replay_together(traces)
            if outcome.differences:
                _, located = run_together(traces, locate=True)
                outcome.first = located.first
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            if isinstance(error, RecordingError):
                raise
            raise RecordingError(f"what was recorded cannot be run again ({str(error).strip().splitlines()[0]}), so there is no "
                                 "verdict on it") from None
        if outcome.differences:
            where = f"; the first operator with another result is {outcome.first[0]}" if outcome.first else ""
            raise RecordingError(
                f"what was recorded does not give what the program computed: {outcome.summary()}{where}. Something wrote memory "
                "that PyTorch's dispatcher did not see: usually numpy, another thread or an extension; do it with torch's "
                "operators, in the thread of the step")
        if outcome.miscounted:
            raise RecordingError(f"the recording is not complete: {outcome.miscounted[0]}")


def read(path: Path) -> Tuple[Dict[str, Any], Dict[str, numpy.ndarray]]:
    """A trace with the values beside it."""
    trace, place = load(path), values_path(path)
    if not os.path.isfile(place):
        raise RecordingError(f"{os.fspath(path)} has no values beside it: there is nothing to replay it from")
    if "values" in trace and trace["values"] != digest(place):
        raise RecordingError(f"{place} does not belong to {os.path.basename(path)}: record again")
    with numpy.load(place) as file:
        values = dict(file)
    if "collectives" not in values:
        raise RecordingError(f"{place} is of an older version of the recorder; record again")
    return trace, values


def jobs(directory: Path) -> List[List[str]]:
    """Paths of the traces in a directory: the reference's, and those of the ranks."""
    names = os.listdir(directory)
    ranks = sorted((name for name in names if re.fullmatch(r"rank\d+\.trace", name)),
                   key=lambda name: int(name[4:-6]))
    groups = [["reference.trace"] if "reference.trace" in names else [], ranks]
    return [[os.path.join(directory, name) for name in group] for group in groups if group]


def replay(directory: Path) -> Outcome:
    """Replays all traces of a directory."""
    total = Outcome()
    for paths in jobs(directory):
        total.add(replay_together([read(path) for path in paths]))
    return total


def without(trace: Mapping[str, Any], removed: Sequence[int]) -> Dict[str, Any]:
    """The trace without some operators, and without the waits for them."""
    operators = trace["operators"]
    works = {operators[index]["work"] for index in removed if "work" in operators[index]}
    return {**trace, "operators": [
        entry for index, entry in enumerate(operators)
        if index not in removed and not ("wait" in entry and entry["wait"] in works)]}


def meetings_of(traces: Sequence[Mapping[str, Any]]) -> List[Dict[int, int]]:
    """The collectives of a job: for each the positions of its operators, by position of the
    trace. Those of a rank with itself do nothing."""
    found: Dict[Key, Dict[int, int]] = {}
    for place, trace in enumerate(traces):
        turns: Dict[Key, int] = {}
        for index, entry in enumerate(trace["operators"]):
            if "collective" not in entry or entry["collective"] == "barrier":
                continue
            group = trace["groups"][entry["group"]]
            if len(group) == 1:
                continue
            lane = lane_of(entry, trace["rank"], group)
            turn = turns[lane] = turns.get(lane, -1) + 1
            found.setdefault((lane, turn), {})[place] = index
    return list(found.values())


@dataclass
class Deletions:
    """What became of a log from which one collective after the other was deleted."""

    count: int = 0
    #: Those that change nothing.
    unnoticed: List[str] = field(default_factory=list)
    #: Those that change no value, and show because collectives are counted.
    without_effect: List[str] = field(default_factory=list)

    def summary(self) -> str:
        """Lines."""
        lines = [f"{self.count} deletions, {len(self.unnoticed)} of them unnoticed; "
                 f"{len(self.without_effect)} change no value and are noticed by counting"]
        return "\n".join(lines + [f"  unnoticed: {text}" for text in self.unnoticed]
                         + [f"  no value: {text}" for text in self.without_effect])


def delete_each_collective(directory: Path) -> Deletions:
    """Deletes one collective after the other, from all ranks that take part in it, and replays."""
    recorded = [read(path) for path in jobs(directory)[-1]]
    meetings = meetings_of([trace for trace, _ in recorded])
    deletions = Deletions(len(meetings))
    for removed in meetings:
        changed = [(without(trace, [removed[place]]) if place in removed else trace, values)
                   for place, (trace, values) in enumerate(recorded)]
        try:
            outcome = replay_together(changed)
        except (RecordingError, RuntimeError, IndexError):
            continue
        if outcome.differences:
            continue
        place, index = next(iter(removed.items()))
        entry = recorded[place][0]["operators"][index]
        (deletions.unnoticed if outcome.exact else deletions.without_effect).append(
            f"rank {recorded[place][0]['rank']}, operator {index}: {entry['op']}")
    return deletions


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command: 0 if all results are as recorded."""
    parser = argparse.ArgumentParser(prog="python -m planproof.torch.replay",
                                     description="Runs recorded traces alone and compares.")
    parser.add_argument("directory", help="where reference.trace and rank*.trace are")
    parser.add_argument("--delete-each-collective", action="store_true",
                        help="then delete one collective after the other: each must show")
    options = parser.parse_args(arguments)
    try:
        outcome = replay(options.directory)
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1
    print(outcome.summary())
    for difference in outcome.differences + outcome.miscounted:
        print(f"  {difference}")
    if options.delete_each_collective and outcome.exact:
        deletions = delete_each_collective(options.directory)
        print(deletions.summary())
        return 1 if deletions.unnoticed else 0
    return 0 if outcome.exact else 1


if __name__ == "__main__":
    sys.exit(main())
