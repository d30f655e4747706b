#!/usr/bin/env python3
"""Times whole commands on the published plans and the examples: median of 5 runs by hyperfine with
`--no-cache --jobs 2` after one that warms the page cache; peak memory is the sum over all processes,
sampled (scripts/measure_memory.py), the largest of 3 runs.

Writes benchmarks/results/whole_commands.csv, which write_page.py shows.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from measure_memory import peak_mebibytes  # noqa: E402

DATA = os.path.join(os.environ.get("PLANPROOF_SHARED", os.path.join(ROOT, "..", "shared")), "data",
                    "nnscaler")
VERDICTS = ["PROVED", "REFUTED", "MALFORMED", "UNKNOWN"]


def measure(command):
    """Median, least and largest seconds, peak MiB, exit code."""
    with tempfile.NamedTemporaryFile(suffix=".json") as times:
        subprocess.run(["hyperfine", "-N", "--warmup", "1", "--runs", "5", "--ignore-failure",
                        "--style", "none", "--export-json", times.name, " ".join(command)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = json.load(open(times.name, encoding="utf-8"))["results"][0]
    memory = max(peak_mebibytes(command) for _ in range(3))
    return result["median"], result["min"], result["max"], memory, result["exit_codes"][-1]


def subjects():
    plans = json.load(open(os.path.join(ROOT, "benchmarks", "budgets.json"), encoding="utf-8"))
    for plan in plans["plans"]:
        files = [os.path.join(DATA, plan["logical"]), os.path.join(DATA, plan["parallel"])]
        if all(os.path.exists(path) for path in files):
            yield plan["name"], files, plan
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.json"))):
        yield os.path.relpath(path, ROOT), [path], {}


def main():
    planproof = os.path.join(os.path.abspath(sys.argv[1]), "cli", "planproof")
    rows = []
    print("%-40s %-9s %9s %9s %s" % ("plan", "verdict", "median", "memory", "budget"))
    for name, files, plan in subjects():
        command = [planproof, "verify", "-q", "--no-cache", "--jobs", "2", *files]
        median, least, largest, memory, code = measure(command)
        verdict = VERDICTS[code] if 0 <= code < len(VERDICTS) else f"exit {code}"
        row = {"plan": name, "verdict": verdict, "median_s": round(median, 4),
               "min_s": round(least, 4), "max_s": round(largest, 4), "peak_mib": round(memory, 1),
               "budget_s": plan.get("seconds"), "budget_mib": plan.get("mebibytes"),
               "trainverify": plan.get("trainverify")}
        rows.append(row)
        print("%-40s %-9s %7.3f s %5.0f MiB %s" % (
            name, verdict, median, memory,
            " ".join(str(plan[key]) for key in ("seconds", "mebibytes") if key in plan)), flush=True)
    os.makedirs(os.path.join(ROOT, "benchmarks", "results"), exist_ok=True)
    path = os.path.join(ROOT, "benchmarks", "results", "whole_commands.csv")
    with open(path, "w", encoding="utf-8", newline="") as stream:
        columns = [key for key in rows[0] if key != "trainverify"]
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if not os.path.isdir(DATA):
        print(f"({DATA} is not there: only examples were timed)")


if __name__ == "__main__":
    main()
