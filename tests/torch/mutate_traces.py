"""Random mutants of recorded traces, judged by replaying them: no mutant that computes something else may be PROVED.

    python tests/torch/record_all.py --out RECORDED
    python tests/torch/mutate_traces.py RECORDED --count 600 --seed 1

A mutant changes one thing on one rank, or the same thing on all: a constant, an operator, the reduction of a collective, an operand, where a
view begins; or it leaves a write out, or runs two operators in the other order."""
import argparse
import copy
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import numpy
from planproof.errors import RecordingError
from planproof.torch import replay

SWAPPED = [("aten.add.", "aten.sub."), ("aten.mul.", "aten.div."), ("aten.lt.", "aten.le."), ("aten.ge.", "aten.gt."),
           ("aten.cos.", "aten.sin."), ("aten.add_.", "aten.sub_."), ("aten.rsqrt.", "aten.sqrt."), ("aten.mul_.", "aten.div_."),
           ("aten.silu.", "aten.tanh."), ("aten.exp.", "aten.tanh.")]
#: Relative to the largest element; round-off is below it.
DIFFERS = 1e-4


def numbers(entry):
    return [i for i, arg in enumerate(entry.get("args") or []) if isinstance(arg, (int, float)) and not isinstance(arg, bool)]


def change_constant(trace, entry, rng):
    place = numbers(entry)
    if not place or not entry["op"].startswith(("aten.add", "aten.sub", "aten.mul", "aten.div", "aten.lerp", "aten.pow", "aten.lt", "aten.ge",
                                                "aten.eq", "aten.ne", "aten.full", "aten.clamp", "aten.addc", "aten.masked_fill")):
        return None
    at = rng.choice(place)
    value = entry["args"][at]
    entry["args"][at] = value + 1 if isinstance(value, int) else value * rng.choice([0.5, 2.0, -1.0]) + (1.0 if value == 0 else 0.0)
    return f"constant {value} of {entry['op']} becomes {entry['args'][at]}"


def change_operator(trace, entry, rng):
    for a, b in SWAPPED:
        for old, new in ((a, b), (b, a)):
            if entry.get("op", "").startswith(old):
                before = entry["op"]
                entry["op"] = before.replace(old, new)
                return f"{before} becomes {entry['op']}"
    return None


def change_reduction(trace, entry, rng):
    if entry.get("reduce") not in ("sum", "avg", "max"):
        return None
    before = entry["reduce"]
    entry["reduce"] = rng.choice([each for each in ("sum", "avg", "max") if each != before])
    return f"{entry['collective']} by {before} is by {entry['reduce']}"


def replace(entry, at, number):
    """An operator in place writes the operand that it gets."""
    before = entry["args"][at]["tensor"]
    entry["args"][at] = {"tensor": number}
    if entry.get("writes") == [before] and at == 0:
        entry["writes"], entry["out"] = [number], [{"tensor": number}]


def change_operand(trace, entry, rng):
    args = [i for i, arg in enumerate(entry.get("args") or []) if isinstance(arg, dict) and "tensor" in arg]
    if not args or "collective" in entry:
        return None
    at = rng.choice(args)
    number = entry["args"][at]["tensor"]
    kind = trace["tensors"][number]
    others = [i for i, t in enumerate(trace["tensors"][:number]) if t[0] != kind[0] and t[1] == kind[1] and t[3:] == kind[3:]]
    if not others:
        return None
    replace(entry, at, rng.choice(others[-12:]))
    return f"operand {at} of {entry['op']} is tensor {entry['args'][at]['tensor']} in place of {number}"


def move_view(trace, entry, rng):
    args = [i for i, arg in enumerate(entry.get("args") or []) if isinstance(arg, dict) and "tensor" in arg]
    if not args or "collective" in entry:
        return None
    at = rng.choice(args)
    storage, dtype, offset, shape, strides, *flags = trace["tensors"][entry["args"][at]["tensor"]]
    extent = sum((n - 1) * s for n, s in zip(shape, strides)) + 1
    free = trace["storages"][storage]["size"] - extent
    if free <= 0:
        return None
    moved = rng.choice([each for each in {0, 1, free // 2, free} if each != offset])
    trace["tensors"].append([storage, dtype, moved, shape, strides, *flags])
    replace(entry, at, len(trace["tensors"]) - 1)
    return f"operand {at} of {entry['op']} begins at {moved} in place of {offset}"


def leave_out(trace, entry, rng):
    if not entry.get("writes") or "collective" in entry or "item" in entry:
        return None
    name = entry["op"]
    entry.clear()
    entry["left out"] = True
    return f"{name} is left out"


KINDS = [change_constant, change_operator, change_reduction, change_operand, move_view, leave_out]


def mutated(traces, rng):
    """The ranks' traces after one change, and what it is; None if there was nothing to change."""
    kind = rng.choice(KINDS)
    everywhere = rng.random() < 0.5
    seed, index = rng.random(), rng.randrange(len(traces[0]["operators"]))
    chosen = range(len(traces)) if everywhere else [rng.randrange(len(traces))]
    result, text = copy.deepcopy(traces), None
    for rank in chosen:
        operators = result[rank]["operators"]
        if index >= len(operators) or "op" not in operators[index]:
            return None
        text = kind(result[rank], operators[index], random.Random(seed))
        if text is None:
            return None
        result[rank]["operators"] = [each for each in operators if "left out" not in each]
    return result, f"{'all ranks' if everywhere else f'rank {chosen[0]}'}: operator {index}: {text}"


def tensors_in(value):
    """Numbers of the tensors in a value of the trace."""
    if isinstance(value, dict):
        return {value["tensor"]} if "tensor" in value else set().union(*map(tensors_in, value.values()))
    return set().union(*map(tensors_in, value)) if isinstance(value, list) else set()


def items_in(op):
    return {int(each) for each in re.findall(r'"item": (\d+)[,}]', json.dumps([op.get("args"), op.get("kwargs")]))}


def meetings(trace):
    """Each collective with its group and how many times this met before; None for messages, whose peer is not looked for."""
    seen = Counter()
    for op in trace["operators"]:
        if "collective" not in op:
            yield op, None
            continue
        group = tuple(trace["groups"][op["group"]]) if "group" in op and op["collective"] not in ("send", "recv") else None
        yield op, group and (group, seen[group])
        seen[group] += 1


def effects(trace, attended):
    """Which numbers read from tensors go into operators on which a result of the rank depends, or what it gives to a meeting that is
    attended; and the meetings on whose results it depends."""
    def storages(tensors):
        return {trace["tensors"][each][0] for each in tensors}

    needed, items, met = storages(entry["tensor"] for entry in trace["results"]), set(), set()
    for op, meeting in reversed(list(meetings(trace))):
        made = storages(tensors_in(op.get("out", []))) | storages(op.get("writes") or [])
        if "collective" in op:
            if meeting and made & needed:
                met.add(meeting)
            if not meeting or meeting in attended | met:
                needed |= storages(op["in"])
        elif made & needed or op.get("item") in items:
            needed |= storages(tensors_in([op.get("args"), op.get("kwargs")]))
            items |= items_in(op)
    return items, met


def items_used(traces):
    """Numbers read from tensors that go into operators on which a result of some rank depends. Those that only steer the program are
    assumed to be the recorded ones, which the verdict says."""
    attended, before = set(), None
    while attended != before:
        before = attended
        found = [effects(trace, attended) for trace in traces]
        attended = attended.union(*(met for _, met in found))
    return set().union(*(items for items, _ in found))


def differences(ranks):
    """By how much each result of each rank is not the recorded one, relative to its size."""
    for rank in ranks:
        for entry, *both in rank.results():
            dtype = rank.trace["tensors"][entry["tensor"]][1]
            now, recorded = (numpy.frombuffer(each.tobytes(), dtype).astype(float) for each in both)
            if not numpy.isfinite(now).all():
                yield numpy.inf
            else:
                yield numpy.abs(now - recorded).max(initial=0) / max(numpy.abs(recorded).max(initial=0), 1e-12)


def deviations(traces, values):
    """By how much results differ; None if the ranks do not run, or take other numbers out of tensors than recorded."""
    try:
        ranks, outcome = replay.run_together(list(zip(traces, values)))
    except (RecordingError, RuntimeError, ValueError, TypeError, IndexError, AttributeError):
        return None
    used = items_used(traces)
    if any(int(each.rsplit(" ", 1)[1]) in used for each in outcome.differences):
        return None
    return list(differences(ranks))


def perturbed(trace, values):
    """The values of a rank with each input of real numbers changed by as much as one rounding."""
    changed = dict(values)
    for entry in trace["inputs"]:
        storage, dtype, *_ = trace["tensors"][entry["tensor"]]
        key = f"storage_{storage}"
        if dtype != "float32" or key not in changed:
            continue
        numbers_ = numpy.frombuffer(changed[key].tobytes(), dtype).copy()
        numbers_ *= 1 + 1e-7 * numpy.cos(12.9898 * numpy.arange(len(numbers_)) + len(entry["name"]))
        changed[key] = numpy.frombuffer(numbers_.tobytes(), changed[key].dtype)
    return changed


def round_off(traces, values):
    """What results deviate by for rounding alone: a gradient that is zero but for rounding is made large by AdamW. Numbers that leave
    tensors may be others then."""
    ranks, _ = replay.run_together([(trace, perturbed(trace, each)) for trace, each in zip(traces, values)])
    return list(differences(ranks))


def differs_from_recorded(mutants, traces, values):
    """Whether a result is another one than rounding explains."""
    found = deviations(mutants, values)
    if found is None:
        return True
    return any(each > max(DIFFERS, 100 * rounding) for each, rounding in zip(found, round_off(traces, values)))


def written(traces, directory):
    """The traces as files."""
    os.makedirs(directory, exist_ok=True)
    paths = [os.path.join(directory, f"rank{rank}.trace") for rank in range(len(traces))]
    for path, trace in zip(paths, traces):
        with gzip.open(path, "wt", compresslevel=1) as file:
            json.dump(trace, file)
    return paths


def verdict(program, reference, traces, limit):
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run([program, "verify", "-q", "--no-cache", reference, *written(traces, directory)], capture_output=True,
                                  text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "UNKNOWN: time"
        return (done.stdout + done.stderr).split("\n")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recorded")
    parser.add_argument("--program", default="build/cli/planproof")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--limit", type=float, default=20, help="seconds for one verdict")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep mutants that are UNKNOWN, or PROVED and differ, with their references")
    options = parser.parse_args()
    rng, counts, wrong, made = random.Random(options.seed), Counter(), 0, 0
    names = options.only or sorted(os.listdir(options.recorded))
    jobs = {}
    for name in names:
        paths = replay.jobs(os.path.join(options.recorded, name))
        if len(paths) == 2 and len(paths[1]) > 1:
            jobs[name] = (paths[0][0], *zip(*[replay.read(path) for path in paths[1]]))
    while made < options.count:
        name = rng.choice(sorted(jobs))
        reference, traces, values = jobs[name]
        mutant = mutated(list(traces), rng)
        if mutant is None:
            continue
        made += 1
        answer = verdict(options.program, reference, mutant[0], options.limit)
        word = answer.split(":")[0]
        differs = differs_from_recorded(mutant[0], traces, values) if word == "PROVED" else None
        counts[word, differs] += 1
        if options.keep and (differs or word == "UNKNOWN"):
            kept = os.path.join(options.keep, str(made))
            written(mutant[0], kept)
            shutil.copy(reference, os.path.join(kept, "reference.trace"))
        if differs:
            wrong += 1
            print(f"PROVED, and differs: {name}: {mutant[1]}", flush=True)
        elif os.environ.get("VERBOSE"):
            print(f"{name}: {mutant[1]}: {answer[:160]}", flush=True)
    for (word, differs), count in sorted(counts.items(), key=str):
        print(f"{word}{'' if differs is None else ', differs' if differs else ', computes the same'}: {count}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
