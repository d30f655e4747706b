"""Compares monitored runs with unmonitored ones: losses and parameters are to be the same, bit for bit.

    transparent.py [--only PATTERN ...] [--every N] [--steps N] [--seed N]

Exit status: 0 if all are the same."""
import argparse
import dataclasses
import fnmatch
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from monitor_scripts import HEALTHY, UNUSUAL  # noqa: E402
from monitored_run import execute  # noqa: E402


def difference(settings, directory):
    """What differs between a monitored run and one that is not, or nothing."""
    runs = [execute(settings, os.path.join(directory, name), monitored=name == "monitored") for name in ("alone", "monitored")]
    for run, name in zip(runs, ("alone", "monitored")):
        if run.error:
            return f"{name}: {run.error.strip().splitlines()[-1]}"
    alone, monitored = runs
    for rank, (expected, found) in enumerate(zip(alone.losses, monitored.losses)):
        if expected != found:
            step = next((number for number, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]), "the last")
            return f"rank {rank}: losses differ from number {step} on"
    if alone.digests != monitored.digests:
        return "parameters differ"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="PATTERN")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seed", type=int, default=17)
    options = parser.parse_args()
    wrong = 0
    for script in (*HEALTHY, *UNUSUAL):
        if options.only and not any(fnmatch.fnmatch(script.name, pattern) for pattern in options.only):
            continue
        settings = dataclasses.replace(script.settings(options.seed, options.steps), every=options.every)
        with tempfile.TemporaryDirectory() as directory:
            said = difference(settings, directory)
        wrong += bool(said)
        print(f"| {script.name} | {said or 'the same'} |", flush=True)
    print(f"{wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
