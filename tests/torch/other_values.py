"""Runs the logs of a reference and of its ranks on other values than the recorded ones, and compares their results.

What is proved is about all values of the inputs, so whoever doubts a verdict can choose some: `Judge` gives the reference new
ones, gives each rank its parts of them by what the trace says it holds, runs both logs alone, and compares each result with
its part of the reference's. All real types are widened to float64 where the log allows it, so that rounding is far below
what any fault does. Numbers read from tensors are computed anew."""
import json
import math
import operator
from dataclasses import dataclass

import numpy
import torch
from planproof.torch import replay
from planproof.torch.exchange import Meetings
from planproof.torch.trace_file import read_number

WIDER = {**dict.fromkeys(("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"), "float64"), "complex64": "complex128"}
#: Relative to the largest element, in float64 and in the recorded types.
DIFFERS = {True: 1e-6, False: 1e-3}
#: Smaller numbers are taken for zero.
TINY = 1e-9
#: Operators whose results have sizes that depend on values: another value is another program.
SIZED_BY_VALUES = ("aten.nonzero", "aten.masked_select", "aten._grouped_mm", "aten._unique")

COMPUTED = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
            "neg": operator.neg}


#: Functions of numbers: Python's; others are those of `math`, or of numpy by its name.
CALLED = {"int": int, "round": round, "abs": abs, "floordiv": operator.floordiv, "mod": operator.mod}


def called(name):
    """A function of numbers by the name that traces have."""
    if name.startswith("numpy."):
        return getattr(numpy, name[len("numpy."):])
    return CALLED.get(name) or getattr(math, name)


class NotComparable(Exception):
    """Logs do not run on these values, or a result has no counterpart."""


@dataclass(frozen=True)
class Difference:
    """What changed ranks compute otherwise than the reference. Of a log that PyTorch refuses to run nothing is known: `runs`."""

    text: str
    runs: bool = True

    def __str__(self):
        return self.text if self.runs else f"does not run: {self.text}"


def widened(trace):
    """The trace with all real types as float64, or None if it looks at memory in two types."""
    for storage, dtype, *_ in trace["tensors"]:
        held = trace["storages"][storage]["dtype"]
        if dtype != held and not (dtype.startswith("complex") and held.startswith("float")):
            return None
    wide = json.loads(json.dumps(trace))
    for each in wide["tensors"]:
        each[1] = WIDER.get(each[1], each[1])
    for each in wide["storages"]:
        each["dtype"] = WIDER.get(each["dtype"], each["dtype"])
    for each in wide["operators"]:
        widen_arguments(each.get("args", []))
        widen_arguments(each.get("kwargs", {}))
    return wide


def widen_arguments(value):
    for each in value if isinstance(value, list) else value.values():
        if isinstance(each, dict) and set(each) == {"dtype"}:
            each["dtype"] = WIDER.get(each["dtype"], each["dtype"])
        elif isinstance(each, (list, dict)):
            widen_arguments(each)


class Run(replay._Rank):
    """A log that starts from other values, and whose numbers from tensors are those of this run."""

    def __init__(self, trace, values, meetings, wide):
        self.items, self.recorded_types = {}, trace
        self.made = widened(trace) if wide else trace
        if self.made is None:
            raise NotComparable("memory in two types")
        super().__init__(self.made, values, meetings)

    def _storage(self, index, entry):
        """As replay has it, with recorded bytes in the recorded type."""
        held = torch.zeros(entry["size"], dtype=getattr(torch, entry["dtype"]))
        if held.dtype.is_floating_point:
            held.fill_(float("nan"))
        data = self.values.get(f"storage_{index}")
        if data is not None:
            before = getattr(torch, self.recorded_types["storages"][index]["dtype"])
            recorded = torch.from_numpy(data.copy()).view(before)
            held[:len(recorded)] = recorded.to(held.dtype)
        return held.untyped_storage()

    def _value(self, value):
        if isinstance(value, dict) and "item" in value:
            return self.items.get(value["item"], read_number(value.get("value")))
        if isinstance(value, dict) and "computed" in value:
            return self.number(value["computed"])
        return super()._value(value)

    def number(self, value):
        """What Python computed from numbers and items."""
        if isinstance(value, list):
            apply, operands = (called(value[1]), value[2:]) if value[0] == "call" else (COMPUTED[value[0]], value[1:])
            return apply(*map(self.number, operands))
        if isinstance(value, dict) and "item" in value:
            return self.items[value["item"]]
        return read_number(value)

    def _compute(self, position, entry, outcome):
        if "item" not in entry:
            super()._compute(position, entry, outcome)
            return
        args = [self._value(each) for each in entry.get("args", [])]
        self.items[entry["item"]] = replay._operator(entry["op"])(*args)


def part_of(whole, entry):
    """The part of a whole that an input or a result is."""
    if "flat" in entry:
        start, length = entry["flat"]
        return whole.reshape(-1)[start:start + length]
    for dim, segments in enumerate(entry.get("place") or []):
        whole = torch.cat([whole.narrow(dim, start, length) for start, length in segments], dim)
    return whole


def drawn(entry, value, generator):
    """Another value of an input: real numbers somewhat larger or smaller, integers in another order."""
    if not value.dtype.is_floating_point:
        return value.reshape(-1)[torch.randperm(value.numel(), generator=generator)].reshape(value.shape)
    factor = 1 + 0.4 * (2 * torch.rand(value.shape, generator=generator, dtype=torch.float64) - 1)
    more = torch.randn(value.shape, generator=generator, dtype=torch.float64) * 0.1 * value.double().abs().mean().clamp(min=0.05)
    if entry.get("domain"):
        more = more.abs()
    return (value.double() * factor + more).to(value.dtype)


def start(reference, seed):
    """Gives the reference its values; all of them by name."""
    generator = torch.Generator().manual_seed(seed or 0)
    held = {}
    for entry in reference.trace["inputs"]:
        value = reference.view(entry["tensor"])
        if seed is not None:
            value.copy_(drawn(entry, value.clone(), generator))
        held[entry["role"], entry["name"]] = value.clone()
    return held


def hand_out(rank, held):
    """Gives a rank its parts."""
    for entry in rank.trace["inputs"]:
        whole = held.get((entry["role"], entry["name"]))
        if whole is None:
            raise NotComparable(f"the reference has no {entry['role']} {entry['name']}")
        target, value = rank.view(entry["tensor"]), part_of(whole, entry)
        if target.shape != value.shape:
            raise NotComparable(f"{entry['name']} is of another shape")
        replay._assign(target, value)


def lockstep(ranks):
    """Runs logs that communicate."""
    outcome = replay.Outcome()
    running = [(rank, rank.run(outcome)) for rank in ranks]
    meetings = ranks[0].meetings
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            while running:
                count, posted = len(running), sum(meetings.counts.values())
                running = [each for each in running if next(each[1], running) is None]
                if len(running) == count and sum(meetings.counts.values()) == posted:
                    raise NotComparable("waits for communication that nobody posts")
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)


def by_name(rank):
    """Results with their entries. A result that says nothing of its part is the part that its input is, or a whole by its shape."""
    parts = {each["name"]: each for each in rank.trace["inputs"] if each["role"] != "input"}
    found = {}
    for entry in rank.trace["results"]:
        value = rank.view(entry["tensor"]).clone()
        own = parts.get(entry["name"], {}) if entry["kind"] != "output" and "of" not in entry else {}
        if own and list(value.shape) == rank.trace["tensors"][own["tensor"]][3]:
            entry = {**{key: own[key] for key in ("of", "place", "flat") if key in own}, **entry}
        found[entry["kind"], entry["name"]] = (entry, value)
    return found


def compared(reference, ranks):
    """By how much each result of each rank is not its part of the reference's, and which results of the reference no rank has."""
    wholes, found = by_name(reference), [by_name(rank) for rank in ranks]
    worst, covered = {}, {}
    for rank, results in enumerate(found):
        for key, (entry, value) in results.items():
            if key not in wholes:
                raise NotComparable(f"the reference has no {' '.join(key)}")
            if entry.get("reduce"):
                members = ranks[rank].trace["groups"][entry["group"]]
                value = sum(found[each][key][1] for each in members)
                value = value / (len(members) if entry["reduce"] == "avg" else 1)
            whole = wholes[key][1]
            expected = part_of(whole, entry)
            if expected.shape != value.shape:
                raise NotComparable(f"{' '.join(key)} is of another shape")
            covered.setdefault(key, torch.zeros(whole.shape, dtype=torch.bool))
            mark(covered[key], entry)
            kind = torch.complex128 if value.dtype.is_complex else torch.float64
            scale = max(float(whole.to(kind).abs().max()) if whole.numel() else 0.0, TINY)
            away = (value.to(kind) - expected.to(kind)).abs()
            most = float(away.max()) / scale if away.numel() else 0.0
            worst[(rank, *key)] = most if numpy.isfinite(most) else numpy.inf
    lost = {key for key in wholes if key not in covered or not bool(covered[key].all())}
    return worst, lost


def mark(flags, entry):
    """Sets the flags of a part."""
    indices = part_of(torch.arange(flags.numel()).reshape(flags.shape), entry)
    flags.view(-1)[indices.reshape(-1)] = True


class Judge:
    """Compares changed logs of ranks with the reference. `reference` and each of `ranks` are a trace and its values."""

    def __init__(self, reference, ranks, seeds=(None, 1)):
        self.reference, self.values = reference, [values for _, values in ranks]
        free = not any(each.get("op", "").startswith(SIZED_BY_VALUES) for each in reference[0]["operators"])
        self.ways = {}
        for seed in seeds:
            if seed is not None and not free:
                continue
            for wide in (True, False):
                try:
                    found = self._run([trace for trace, _ in ranks], self.values, seed, wide)
                except (NotComparable, RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError, ZeroDivisionError):
                    continue
                if max(found[0].values(), default=0.0) < 10 * DIFFERS[wide]:
                    self.ways[seed, wide] = found
                    break

    def _run(self, traces, values, seed, wide):
        reference = Run(*self.reference, Meetings(), wide)
        held, meetings = start(reference, seed), Meetings()
        ranks = [Run(trace, each, meetings, wide) for trace, each in zip(traces, values)]
        for rank in ranks:
            hand_out(rank, held)
        lockstep([reference])
        lockstep(ranks)
        return compared(reference, ranks)

    def difference(self, traces, values=None):
        """What changed ranks compute otherwise than the reference; None if nothing."""
        if not self.ways:
            raise NotComparable("the unchanged ranks do not run, or differ from the reference")
        for (seed, wide), (before, lost) in self.ways.items():
            try:
                now, more = self._run(traces, values or self.values, seed, wide)
            except NotComparable as error:
                return Difference(str(error))
            except Exception as error:  # whatever operators say to what they cannot do
                return Difference(str(error).splitlines()[0] if str(error) else type(error).__name__, runs=False)
            for key, most in now.items():
                if most > max(DIFFERS[wide], 100 * before.get(key, 0.0)):
                    return Difference(f"rank {' '.join(map(str, key))} differs by {most:.2g} (seed {seed})")
            if more - lost:
                return Difference(f"no rank has {' '.join(sorted(more - lost)[0])}")
            gone = [key for key in before if key not in now and key[1] != "output"]
            if gone:
                return Difference(f"rank {gone[0][0]} has no {' '.join(gone[0][1:])}")
        return None
