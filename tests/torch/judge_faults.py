"""Records programs with a fault and without it, and judges both in numbers and by proof.

    judge_faults.py [--only PATTERN ...] [--limit SECONDS] [--keep DIRECTORY] [--single]

The programs are those of faults/. Each is recorded twice, with its fault and without: processes over gloo, in float64
unless `--single` is given, and one process as the reference. The table has the largest difference of a result from the
reference's, relative to its size, whose it is, and what planproof says. Traces stay in DIRECTORY/NAME and
DIRECTORY/NAME.right."""
import argparse
import fnmatch
import importlib
import os
import sys
import tempfile
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTS = os.path.join(HERE, "faults")
sys.path[:0] = [HERE, os.path.join(HERE, "programs"), FAULTS, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]

from agreement import differences  # noqa: E402
from planproof import VerificationTimeout, verify  # noqa: E402
from planproof.torch import launch  # noqa: E402
from record_all import mesh_of  # noqa: E402

#: Relative differences of results in float64: below, and above.
RIGHT, WRONG = 1e-5, 1e-3


def faults():
    """Names of the programs."""
    names = sorted(file[:-3] for file in os.listdir(FAULTS) if file.endswith(".py"))
    return [name for name in names if mesh_of(name, FAULTS)]


def build(mesh, name, fault, double):
    """Builds in a process of its own."""
    import torch
    if double:
        torch.set_default_dtype(torch.float64)
    return importlib.import_module(name).build(mesh, fault)


def judged(name, fault, directory, options):
    """The largest difference, whose it is, the verdict and its first line."""
    paths = launch(partial(build, name=name, fault=fault, double=not options.single), mesh_of(name, FAULTS), directory,
                   start_method="fork")
    worst, _ = differences(directory)
    key = max(worst, key=worst.get)
    start = time.monotonic()
    try:
        report = verify(paths, timeout=options.limit, cache=False)
        verdict, line = str(report.verdict), report.headline
    except VerificationTimeout:
        verdict, line = "UNKNOWN", f"over {options.limit:g} s"
    return float(worst[key]), " ".join(key), verdict, line, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a verification (20)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces here")
    parser.add_argument("--single", action="store_true", help="compute in float32")
    options = parser.parse_args()
    bad = 0
    print("| program | difference | of | verdict | s | first line |\n| --- | ---: | --- | --- | ---: | --- |")
    for name in faults():
        if not any(fnmatch.fnmatch(name, each) for each in options.only):
            continue
        for fault in (True, False):
            with tempfile.TemporaryDirectory() as own:
                shown = name if fault else f"{name}.right"
                try:
                    most, whose, verdict, line, seconds = judged(name, fault, os.path.join(options.keep or own, shown), options)
                except Exception as error:  # the others are judged all the same
                    lines = [each for each in str(error).strip().splitlines() if each.strip()]
                    print(f"| {shown} | | | not recorded | | {lines[-1] if lines else type(error).__name__} |", flush=True)
                    bad += 1
                    continue
            print(f"| {shown} | {most:.1g} | {whose} | {verdict} | {seconds:.2f} | {line.replace('|', '/')} |", flush=True)
            agree = (most > WRONG and verdict == "REFUTED") if fault else (most < RIGHT and verdict == "PROVED")
            bad += not (agree or options.single)
    print(f"{bad} of which verdict and numbers do not agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
