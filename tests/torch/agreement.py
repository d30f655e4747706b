"""Compares recorded results of ranks with those of the reference, as numbers: relations that are wrong show.

    agreement.py DIRECTORY ..."""
import os
import sys

import numpy
import torch
from planproof.torch.replay import jobs, read


def values_of(trace, values):
    """Results by kind and name, with their entries."""
    for index, entry in enumerate(trace["results"]):
        _, dtype, _, shape, _, *_ = trace["tensors"][entry["tensor"]]
        held = values[f"result_{index}"]  # torch does not look at none as numbers of another type
        numbers = torch.from_numpy(held.copy()).view(getattr(torch, dtype)) if held.size else torch.empty(0, dtype=getattr(torch, dtype))
        yield entry, (numbers.double() if dtype == "bfloat16" else numbers).reshape(shape).numpy()


def cut(whole, entry):
    """The part of a whole that an entry of a result (or of the input that it updates) is."""
    if "flat" in entry:
        start, length = entry["flat"]
        return whole.reshape(-1)[start:start + length]
    for dim, segments in enumerate(entry.get("place", [])):
        whole = whole.take([index for start, length in segments for index in range(start, start + length)], dim)
    return whole


def differences(directory, smallest=0.0):
    """For each result of the reference: the largest difference to a rank's, relative to its size, or to `smallest` if it is smaller: what
    is zero but for rounding has no size."""
    (reference_path,), rank_paths = jobs(directory)
    reference = {(entry["kind"], entry["name"]): value
                 for entry, value in values_of(*read(reference_path))}
    ranks = [read(path) for path in rank_paths]
    found = [{(entry["kind"], entry["name"]): (entry, value)
              for entry, value in values_of(trace, values)} for trace, values in ranks]
    worst = {}
    for rank, results in enumerate(found):
        for key, (entry, value) in results.items():
            whole = reference[key]
            if "reduce" in entry:
                members = ranks[rank][0]["groups"][entry["group"]]
                value = sum(found[member][key][1] for member in members)
                value = value / (len(members) if entry["reduce"] == "avg" else 1)
            expected = cut(whole, entry)
            with numpy.errstate(invalid="ignore"):
                away = numpy.where(value == expected, 0.0, numpy.abs(value - expected)).max(initial=0.0)
            scale = max(numpy.abs(whole[numpy.isfinite(whole)]).max(initial=0.0), smallest) or 1.0
            difference = numpy.inf if numpy.isnan(away) else away / scale
            worst[key] = max(worst.get(key, 0.0), difference)
    return worst, sorted(set(reference) - set(worst))


def main():
    for directory in sys.argv[1:]:
        if len(jobs(directory)) < 2:
            continue
        worst, missing = differences(directory)
        key = max(worst, key=worst.get)
        print(f"{os.path.basename(os.path.normpath(directory))}: {len(worst)} results, worst "
              f"{worst[key]:.2g} at {' '.join(key)}; missing {len(missing)} "
              f"{' '.join(missing[0]) if missing else ''}")


if __name__ == "__main__":
    main()
