"""Random mutants of recorded traces, judged by running them: no mutant that computes something else may be PROVED.

    python tests/torch/record_all.py --out RECORDED
    python tests/torch/mutate_traces.py RECORDED --count 600 --seed 1

A mutant changes one thing on one rank, or the same thing on all (trace_mutations.py). What is PROVED is run on the recorded values
and on others, beside the reference (other_values.py). The values of the recording lie beside a mutant if `--values` is given, so
that what ranks recorded is compared, too; without it the graphs have to speak for themselves."""
import argparse
import copy
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

from planproof.torch import replay
from planproof.torch.trace_file import values_path

from other_values import Judge
from trace_mutations import KINDS


def mutated(traces, rng, kinds=KINDS):
    """The ranks' traces after one change, and what it is; None if there was nothing to change."""
    kind = rng.choice(kinds)
    everywhere = rng.random() < 0.5
    seed, index = rng.random(), rng.randrange(len(traces[0]["operators"]))
    chosen = range(len(traces)) if everywhere else [rng.randrange(len(traces))]
    result, text = copy.deepcopy(traces), None
    for rank in chosen:
        if index >= len(result[rank]["operators"]):
            return None
        text = kind(result[rank], index, random.Random(seed))
        if text is None:
            return None
    return result, f"{'all ranks' if everywhere else f'rank {chosen[0]}'}: operator {index}: {kind.__name__}: {text}"


def written(traces, directory, recorded=None):
    """The traces as files, with the recorded values beside them if they are given."""
    os.makedirs(directory, exist_ok=True)
    paths = [os.path.join(directory, f"rank{rank}.trace") for rank in range(len(traces))]
    for path, trace in zip(paths, traces):
        with gzip.open(path, "wt", compresslevel=1) as file:
            json.dump(trace, file)
    for path, values in zip(paths, recorded or []):
        shutil.copy(values_path(values), values_path(path))
    return paths


def verdict(program, reference, traces, limit, recorded=None):
    """The first line. `recorded`: paths of the recorded traces, whose values count."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(reference, os.path.join(directory, "reference.trace"))
        if recorded:
            shutil.copy(values_path(reference), os.path.join(directory, "reference.values.npz"))
        try:
            done = subprocess.run([program, "verify", "-q", "--no-cache", os.path.join(directory, "reference.trace"),
                                   *written(traces, directory, recorded)], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "UNKNOWN: time"
        line = (done.stdout + done.stderr).split("\n")[0]
        return line if done.returncode >= 0 else f"crash: signal {-done.returncode}: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recorded")
    parser.add_argument("--program", default="build/cli/planproof")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="programs")
    parser.add_argument("--kinds", nargs="*", metavar="KIND", help="kinds of changes")
    parser.add_argument("--values", action="store_true", help="leave the recorded values beside the mutants")
    parser.add_argument("--limit", type=float, default=20, help="seconds for one verdict")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep mutants that are UNKNOWN, or PROVED and differ, with their references")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if not options.kinds or kind.__name__ in options.kinds]
    rng, counts, by_kind, wrong, made = random.Random(options.seed), Counter(), Counter(), 0, 0
    names = options.only or sorted(os.listdir(options.recorded))
    jobs = {}
    for name in names:
        paths = replay.jobs(os.path.join(options.recorded, name))
        if len(paths) == 2 and len(paths[1]) > 1 and all(os.path.exists(values_path(path)) for each in paths for path in each):
            ranks = [replay.read(path) for path in paths[1]]
            judge = Judge(replay.read(paths[0][0]), ranks)
            if judge.ways:
                jobs[name] = (paths, [trace for trace, _ in ranks], judge)
            else:
                print(f"{name} is left out: its logs do not run on other values, or differ from the reference", flush=True)
    while made < options.count:
        name = rng.choice(sorted(jobs))
        (paths, traces, judge) = jobs[name]
        mutant = mutated(traces, rng, kinds)
        if mutant is None:
            continue
        made += 1
        answer = verdict(options.program, paths[0][0], mutant[0], options.limit, paths[1] if options.values else None)
        word = answer.split(":")[0] if answer else "nothing said"
        differs = judge.difference(mutant[0]) if word == "PROVED" else None
        counts[word if word != "PROVED" else "PROVED, computes the same" if differs is None else
               "PROVED, differs" if differs.runs else "PROVED, PyTorch refuses it"] += 1
        if options.keep and (differs or word in ("UNKNOWN", "crash")):
            kept = os.path.join(options.keep, str(made))
            written(mutant[0], kept, paths[1])
            shutil.copy(paths[0][0], os.path.join(kept, "reference.trace"))
        if differs or word not in ("PROVED", "REFUTED", "MALFORMED", "UNKNOWN", "error"):
            wrong += 1
            by_kind[mutant[1].split(": ")[2]] += 1
            print(f"{'PROVED, and' if differs else answer}: mutant {made} of {name}: {mutant[1]}: {differs}", flush=True)
        elif os.environ.get("VERBOSE"):
            print(f"{name}: {mutant[1]}: {answer[:160]}", flush=True)
    print(f"{made} mutants of {len(jobs)} programs, {counts['PROVED, differs']} PROVED that differ in numbers; "
          + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
          + "".join(f"; {count} wrong by {kind}" for kind, count in by_kind.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
