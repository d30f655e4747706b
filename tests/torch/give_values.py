"""Gives traces that were written by hand the values that a recording would have: python give_values.py TRACE... --out DIRECTORY

The first trace is the reference's, the others are those of the ranks. Inputs get random values, each rank its part of the reference's;
then the logs are run by PyTorch, and what comes out is what was "recorded". So the anchor can be tried on programs of one operator that
were never run."""
import argparse
import os
import random
import shutil
import sys

import numpy
import torch
from planproof.torch import replay
from planproof.torch.counted import in_log
from planproof.torch.memory import content
from planproof.torch.trace_file import load, read_number, values_path


def elements(view, storage):
    """The tensor that a view shows of a storage."""
    _, dtype, offset, shape, strides, *_ = view
    return torch.as_strided(storage, shape, strides, offset)


def whole(entry, trace, rng):
    """Values of an input of the reference: real numbers of moderate size, or integers of its domain."""
    _, dtype, _, shape, *_ = trace["tensors"][entry["tensor"]]
    kind = getattr(torch, dtype)
    size = entry.get("of", shape)
    low, high = entry.get("domain") or (None, None)
    count = int(numpy.prod(size, dtype=int))
    if kind.is_floating_point:
        made = [rng.choice([-1, 1]) * rng.uniform(0.5, 4) for _ in range(count)]
        made = [abs(value) for value in made] if low == 0 else made
    else:
        low, high = (0, 2) if kind is torch.bool else (low if low is not None else -5, high if high is not None else 6)
        made = [rng.randrange(low, high) for _ in range(count)]
    return torch.tensor(made, dtype=kind).reshape(size)


def part(entry, value):
    """Of a whole, what this entry says to hold."""
    if "flat" in entry:
        start, length = entry["flat"]
        return value.reshape(-1)[start:start + length]
    for dim, ranges in enumerate(entry.get("place", [])):
        value = torch.cat([value.narrow(dim, start, length) for start, length in ranges], dim)
    return value


def initial(trace, wholes):
    """What each storage holds before the step, as the values beside a trace have it."""
    found = {}
    for index, storage in enumerate(trace["storages"]):
        kind = getattr(torch, storage["dtype"])
        if "uniform" in storage:
            found[index] = torch.full([storage["size"]], read_number(storage["uniform"]), dtype=kind)
        elif "values" in storage:
            found[index] = torch.tensor([read_number(each) for each in storage["values"]], dtype=kind)
    for entry in trace["inputs"]:
        view = trace["tensors"][entry["tensor"]]
        storage = found.setdefault(view[0], torch.zeros(trace["storages"][view[0]]["size"], dtype=getattr(torch, trace["storages"][view[0]]["dtype"])))
        elements(view, storage).copy_(part(entry, wholes[entry["name"]]))
    return {f"storage_{index}": content(tensor).numpy() for index, tensor in found.items()}


def with_values(traces, seed=0):
    """The values of the reference and of each rank."""
    rng = random.Random(seed)
    reference = traces[0]
    wholes = {entry["name"]: whole(entry, reference, rng) for entry in reference["inputs"]}
    given = []
    for trace in traces:
        given.append({"generator": torch.get_rng_state().numpy(), "items": numpy.zeros(0),
                      "collectives": numpy.array(in_log(trace), dtype=numpy.int64), **initial(trace, wholes)})
    for places in ([0], list(range(1, len(traces)))):
        ranks, _ = replay.run_together([(traces[place], given[place]) for place in places])
        for place, rank in zip(places, ranks):
            for index, entry in enumerate(traces[place]["results"]):
                given[place][f"result_{index}"] = content(rank.view(entry["tensor"])).numpy()
    return given


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    traces = [load(path) for path in options.traces]
    for place, values in enumerate(with_values(traces, options.seed)):
        path = os.path.join(options.out, "reference.trace" if place == 0 else f"rank{traces[place]['rank']}.trace")
        shutil.copyfile(options.traces[place], path)
        numpy.savez_compressed(values_path(path), **values)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
