"""Mutants of the reader of traces: none may end in PROVED that recorded numbers contradict.

    python tests/torch/record_all.py --out RECORDED
    python tests/torch/mutate_reader.py RECORDED --count 200 --seed 1

A reader that takes one operator for its neighbour, leaves an argument out, or reads another stride, place or type does so in the
reference and on all ranks alike, and the two may well agree. Such a reader is had by changing all traces of a program in the same way,
while the values beside them stay those that were recorded. Whether the mistake computes something else is judged by running the changed
logs with PyTorch."""
import argparse
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

import torch
from mutate_traces import written
from planproof.torch import replay
from planproof.torch.trace_file import values_path
from recorded_agreement import Refused, differs_from_recorded

#: Meanings that a table could exchange, with or without a trailing underscore.
NEIGHBOURS = [("add", "sub"), ("mul", "div"), ("lt", "le"), ("gt", "ge"), ("eq", "ne"), ("cos", "sin"), ("rsqrt", "sqrt"), ("exp", "tanh"),
              ("sigmoid", "tanh"), ("silu", "relu"), ("gelu", "silu"), ("sum", "mean"), ("_softmax", "_log_softmax"), ("maximum", "minimum"),
              ("amax", "amin"), ("addcmul", "addcdiv"), ("bitwise_and", "bitwise_or"), ("logical_and", "logical_or"), ("abs", "neg"),
              ("ones_like", "zeros_like"), ("scatter", "scatter_add"), ("_foreach_add", "_foreach_sub"), ("_foreach_mul", "_foreach_div"),
              ("_foreach_addcmul", "_foreach_addcdiv"), ("tril", "triu"), ("cumsum", "cumprod"), ("log", "exp"), ("floor", "ceil")]


def split(op):
    """Namespace, plain name, whether in place, overload."""
    namespace, name, overload = op.split(".")
    in_place = name.endswith("_") and not name.endswith("__")
    return namespace, name[:-1] if in_place else name, in_place, overload


def schema_of(op):
    namespace, name, overload = op.split(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload)._schema
    except AttributeError:
        return None


def computed(trace):
    """Entries that compute."""
    return [entry for entry in trace["operators"] if "op" in entry and "collective" not in entry]


def names_in(traces):
    return sorted({entry["op"] for trace in traces for entry in computed(trace)})


def exchange_meanings(traces, rng):
    """One operator is taken for its neighbour."""
    both = dict(NEIGHBOURS)
    both.update((b, a) for a, b in NEIGHBOURS)
    choices = []
    for op in names_in(traces):
        namespace, name, in_place, overload = split(op)
        other = f"{namespace}.{both.get(name)}{'_' if in_place else ''}.{overload}"
        if name in both and schema_of(other) is not None:
            choices.append((op, other))
    if not choices:
        return None
    op, other = rng.choice(choices)
    for trace in traces:
        for entry in computed(trace):
            if entry["op"] == op:
                entry["op"] = other
    return f"{op} is read as {other}"


def neutral(argument, value):
    """What a reader that ignores an argument takes it to be: its default, or what changes nothing."""
    if argument.has_default_value():
        return argument.default_value
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return type(value)(1 if argument.name in ("other", "alpha", "value", "exponent", "weight") else 0)
    return value


def ignore_argument(traces, rng):
    """One argument of one operator is not looked at."""
    choices = set()
    for trace in traces:
        for entry in computed(trace):
            schema = schema_of(entry["op"])
            if schema is None:
                continue
            for at, argument in enumerate(schema.arguments):
                value = entry.get("args", [])[at] if at < len(entry.get("args", [])) else entry.get("kwargs", {}).get(argument.name)
                if isinstance(value, (int, float)) and neutral(argument, value) != value:
                    choices.add((entry["op"], at))
    if not choices:
        return None
    op, at = rng.choice(sorted(choices))
    argument = schema_of(op).arguments[at]
    for trace in traces:
        for entry in computed(trace):
            if entry["op"] != op:
                continue
            if at < len(entry.get("args", [])) and isinstance(entry["args"][at], (int, float)):
                entry["args"][at] = neutral(argument, entry["args"][at])
            elif isinstance(entry.get("kwargs", {}).get(argument.name), (int, float)):
                entry["kwargs"][argument.name] = neutral(argument, entry["kwargs"][argument.name])
    return f"{argument.name} of {op} is ignored"


def operands(entry):
    return [at for at, value in enumerate(entry.get("args", [])) if isinstance(value, dict) and "tensor" in value]


def read_views(traces, rng, change, text):
    """Operands of one operator are read by another view, wherever `change` gives one."""
    choices = set()
    for trace in traces:
        for entry in computed(trace):
            for at in operands(entry):
                if entry.get("writes") and at == 0:
                    continue
                if change(trace, trace["tensors"][entry["args"][at]["tensor"]]) is not None:
                    choices.add((entry["op"], at))
    if not choices:
        return None
    op, place = rng.choice(sorted(choices))
    for trace in traces:
        for entry in computed(trace):
            if entry["op"] != op or place not in operands(entry) or (entry.get("writes") and place == 0):
                continue
            view = change(trace, trace["tensors"][entry["args"][place]["tensor"]])
            if view is not None:
                trace["tensors"].append(view)
                entry["args"][place] = {"tensor": len(trace["tensors"]) - 1}
    return f"operand {place} of {op} is read {text}"


def contiguous(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return strides


def ignore_strides(traces, rng):
    def change(trace, view):
        storage, dtype, offset, shape, strides, *flags = view
        plain = contiguous(shape)
        last = offset + sum((n - 1) * s for n, s in zip(shape, plain))
        moved = any(n > 1 and s != p for n, s, p in zip(shape, strides, plain))
        if moved and 0 not in shape and last < trace["storages"][storage]["size"]:
            return [storage, dtype, offset, shape, plain, *flags]
        return None
    return read_views(traces, rng, change, "as if it were contiguous")


def ignore_offset(traces, rng):
    def change(trace, view):
        storage, dtype, offset, *rest = view
        return [storage, dtype, 0, *rest] if offset else None
    return read_views(traces, rng, change, "from the start of its memory")


def ignore_flags(traces, rng):
    def change(trace, view):
        return view[:5] if len(view) > 5 and view[5] else None
    return read_views(traces, rng, change, "without its conjugate or negative bit")


def ignore_conversion(traces, rng):
    """A conversion to whole numbers or truth values keeps what it is given: the result is read as one of real numbers."""
    kinds = {"int64", "int32", "bool"}
    choices = set()
    for trace in traces:
        for entry in computed(trace):
            if split(entry["op"])[1] not in ("_to_copy", "to", "copy"):
                continue
            given = [trace["tensors"][value["tensor"]][1] for value in entry.get("args", []) if isinstance(value, dict) and "tensor" in value]
            made = [trace["tensors"][value["tensor"]] for value in entry.get("out", []) if isinstance(value, dict) and "tensor" in value]
            if given and given[-1].startswith(("float", "bfloat")) and made and made[0][1] in kinds:
                choices.add(entry["op"])
    if not choices:
        return None
    op = rng.choice(sorted(choices))
    for trace in traces:
        for entry in computed(trace):
            if entry["op"] != op or not entry.get("out"):
                continue
            storage = trace["tensors"][entry["out"][0]["tensor"]][0]
            if trace["storages"][storage]["dtype"] not in kinds:
                continue
            trace["storages"][storage]["dtype"] = "float32"
            for view in trace["tensors"]:
                if view[0] == storage:
                    view[1] = "float32"
            if "dtype" in entry.get("kwargs", {}):
                entry["kwargs"]["dtype"] = {"dtype": "float32"}
    return f"{op} keeps fractions"


def exchange_reductions(traces, rng):
    """A collective's reduction is another one."""
    found = sorted({(entry["collective"], entry["reduce"]) for trace in traces for entry in trace["operators"] if "reduce" in entry})
    if not found:
        return None
    collective, reduction = rng.choice(found)
    other = rng.choice([each for each in ("sum", "avg", "max") if each != reduction])
    for trace in traces:
        for entry in trace["operators"]:
            if entry.get("collective") == collective and entry.get("reduce") == reduction:
                entry["reduce"] = other
    return f"{collective} by {reduction} is read as one by {other}"


def exchange_operands(traces, rng):
    """Two operands of one operator change places."""
    choices = set()
    for trace in traces:
        for entry in computed(trace):
            places = operands(entry)
            if len(places) > 1 and not entry.get("writes"):
                a, b = (trace["tensors"][entry["args"][place]["tensor"]] for place in places[:2])
                if a[1] == b[1] and a[3] == b[3] and entry["args"][places[0]] != entry["args"][places[1]]:
                    choices.add(entry["op"])
    if not choices:
        return None
    op = rng.choice(sorted(choices))
    for trace in traces:
        for entry in computed(trace):
            places = operands(entry)
            if entry["op"] == op and len(places) > 1 and not entry.get("writes"):
                a, b = (trace["tensors"][entry["args"][place]["tensor"]] for place in places[:2])
                if a[1] == b[1] and a[3] == b[3]:
                    args = entry["args"]
                    args[places[0]], args[places[1]] = args[places[1]], args[places[0]]
    return f"the first two operands of {op} change places"


KINDS = [exchange_meanings, exchange_meanings, ignore_argument, ignore_argument, ignore_strides, ignore_offset, ignore_flags,
         ignore_conversion, exchange_reductions, exchange_operands]


def verdict(program, directory, reference, traces, sources, limit):
    """The first line of the answer about changed traces with the values that were recorded."""
    paths = written(traces, directory)
    first = written([reference], os.path.join(directory, "reference"))[0]
    for source, path in zip(sources, [first, *paths]):
        shutil.copy(source[:-len(".trace")] + ".values.npz", path[:-len(".trace")] + ".values.npz")
    try:
        done = subprocess.run([program, "verify", "-q", "--no-cache", first, *paths], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "UNKNOWN: time"
    return (done.stdout + done.stderr).split("\n")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recorded")
    parser.add_argument("--program", default="build/cli/planproof")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--limit", type=float, default=20, help="seconds for one verdict")
    options = parser.parse_args()
    rng, counts, wrong, made = random.Random(options.seed), Counter(), 0, 0
    jobs = {}
    for name in options.only or sorted(os.listdir(options.recorded)):
        paths = replay.jobs(os.path.join(options.recorded, name))
        if len(paths) == 2 and len(paths[1]) > 1 and all(os.path.exists(values_path(path)) for each in paths for path in each):
            jobs[name] = ([paths[0][0], *paths[1]], *zip(*[replay.read(path) for path in [paths[0][0], *paths[1]]]))
    tried = Counter()
    while made < options.count:
        name = rng.choice(sorted(jobs))
        sources, traces, values = jobs[name]
        mutants = copy.deepcopy(list(traces))
        text = rng.choice(KINDS)(mutants, rng)
        tried[name, text] += 1
        if text is None or tried[name, text] > 1:
            if sum(tried.values()) > 100 * options.count:
                break
            continue
        made += 1
        with tempfile.TemporaryDirectory() as directory:
            answer = verdict(options.program, directory, mutants[0], mutants[1:], sources, options.limit)
        word = answer.split(":")[0]
        differs = None
        try:
            if word in ("PROVED", "REFUTED"):
                differs = any(differs_from_recorded(mutants[own], traces[own], values[own]) for own in (slice(1), slice(1, None)))
        except Refused:
            word = f"{word}, PyTorch refuses it"
        counts[word, differs] += 1
        if differs and word == "PROVED":
            wrong += 1
            print(f"PROVED, and differs: {name}: {text}", flush=True)
        elif os.environ.get("VERBOSE"):
            print(f"{name}: {text}: {answer[:200]}", flush=True)
    for (word, differs), count in sorted(counts.items(), key=str):
        print(f"{word}{'' if differs is None else ', differs from what was recorded' if differs else ', computes the same'}: {count}")
    print(f"{made} mutants of the reader, {wrong} PROVED that differ from what was recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
