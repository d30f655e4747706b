#!/usr/bin/env python3
"""Verifies every plan of plans/ three times, and its wrong variant once; prints verdicts and median times.

    PLANPROOF_BINARY=build/cli/planproof PYTHONPATH=python tests/python/verify_plans.py [--seconds MOST] [NAME ...]

The exit code is 1 unless every plan is PROVED, in at most so many seconds.
"""
import argparse
import glob
import importlib
import os
import statistics
import sys
import time

import planproof

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans")
NAMES = sorted(os.path.basename(path)[:-len(".py")]
               for path in glob.glob(os.path.join(FOLDER, "*.py")))


def load(name):
    """The module of that name in plans/."""
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
    return importlib.import_module(name)


def words(name, case):
    return f"{name}({', '.join(f'{key}={value}' for key, value in case.items())})"


def measured(plan, times):
    """Verdict, first line and median seconds."""
    path, seconds = plan, []
    for _ in range(times):
        start = time.monotonic()
        report = planproof.verify(path, cache=False)
        seconds.append(time.monotonic() - start)
    return report, statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, for a proof")
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.names:
        module = load(name)
        for case in module.CASES:
            report, seconds = measured(module.plan(**case), 3)
            missed += not report.proved or seconds > arguments.seconds
            print(f"{words(name, case):58} {report.verdict!s:10} {seconds:6.2f} s", flush=True)
        for case in module.FAULTY:
            report, seconds = measured(module.plan(**case, fault=True), 1)
            missed += report.proved
            print(f"  wrong {words('', case):50} {seconds:6.2f} s  {report.headline[:150]}", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
