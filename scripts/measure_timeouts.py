#!/usr/bin/env python3
"""Whether --timeout ends every run in time, with what is known.

    scripts/measure_timeouts.py PLANPROOF [--timeout 10] [--room 2] [--faults 2] [--seed 1] [--random 20]

Plans: examples, presets, published plans of nnScaler (../shared/data/nnscaler, if they are there), the sixteen of
measure_diagnosis.py, and random ones of measure_replay.py; each as it is and with --faults random faults. Exit code 1
if a run took longer than the time-out and the room, or ended without a verdict.
"""
import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile
import time

import measure_diagnosis
import measure_replay

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VERDICTS = {0: "PROVED", 1: "REFUTED", 2: "MALFORMED", 3: "UNKNOWN"}


def files_of_plans(planproof, random, folder):
    """Name and files of each plan."""
    for file in sorted(glob.glob(os.path.join(ROOT, "examples", "*.json"))):
        yield os.path.basename(file), [file]
    data = os.path.join(ROOT, "..", "shared", "data", "nnscaler")
    for file in sorted(glob.glob(os.path.join(data, "*.pkl"))):
        model, rest = os.path.basename(file).split("_dp", 1)
        model_alone = sorted(glob.glob(os.path.join(data, f"{model}_dp1_pp1_tp1_nm1_{rest.split('_', 4)[4]}")))
        if model_alone and model_alone[0] != file:
            yield os.path.basename(file), [model_alone[0], file]
    generated = ["--preset " + name for name in ("L1", "L2", "L3", "D1", "D2", "D3")] + measure_diagnosis.PLANS
    generated += [" ".join(measure_replay.random_plan(seed)) for seed in range(random)]
    for number, options in enumerate(generated):
        plan = os.path.join(folder, str(number))
        made = subprocess.run([planproof, "generate", *options.split(), "--output", plan], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        if made.returncode == 0:
            yield options, [os.path.join(plan, name) for name in ("logical.plan", "parallel.plan")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planproof")
    parser.add_argument("--timeout", type=float, default=10)
    parser.add_argument("--room", type=float, default=2)
    parser.add_argument("--faults", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=20)
    options = parser.parse_args()
    verdicts, longest, late, plans = collections.Counter(), (0, ""), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, files in files_of_plans(options.planproof, options.random, folder):
            plans += 1
            for fault in range(options.faults + 1):
                run = files
                if fault > 0:
                    broken = os.path.join(folder, "broken.plan")
                    made = subprocess.run([options.planproof, "mutate", *files, "--kind", "random", "--seed",
                                           str(options.seed + fault), "-o", broken], stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, check=False)
                    if made.returncode != 0:
                        continue
                    run = [broken]
                start = time.monotonic()
                code = subprocess.run([options.planproof, "verify", "-q", "--no-cache", "--timeout",
                                       str(options.timeout), *run], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, check=False).returncode
                seconds = time.monotonic() - start
                verdict = VERDICTS.get(code, f"exit code {code}")
                verdicts[verdict] += 1
                what = f"{name}{f', fault {options.seed + fault}' if fault else ''}"
                longest = max(longest, (seconds, what))
                if seconds > options.timeout + options.room or code not in VERDICTS:
                    late += 1
                    print(f"{seconds:.1f} s, {verdict}: {what}", flush=True)
    print(f"{plans} plans, {sum(verdicts.values())} runs: {dict(verdicts)}; the longest {longest[0]:.1f} s ({longest[1]}); "
          f"{late} late or without a verdict")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
