#!/usr/bin/env python3
"""How long single faults take to be refuted, explanation included, and how many are not decided.

    scripts/measure_refutations.py PLANPROOF PLAN [--faults 100] [--seed 1] [--most-seconds 0] [--csv FILE]

PLAN: llama or moe (published nnScaler plans, dp 2, pp 2, tp 2, two microbatches; ../shared/data/nnscaler), L3 or D3 (presets),
llama-full (8 layers, dp 4, tp 4, pp 2, cp 2, ZeRO 1) or deepseek-full (16B, 8 layers, dp 4, tp 2, ep 4) at full dimensions, or
what `generate` is given: "--model gpt3-1.3b --tp 2".
Random faults, one at a time, until --faults of them are REFUTED or UNKNOWN; MALFORMED and PROVED ones are counted only.
Faults of plans that name programs cannot be put into L3 and D3 without writing them out: these take deviations (a rank that
does otherwise), as `mutate --kind deviation` makes them.
"""
import argparse
import collections
import csv
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

PLANS = {
    "llama-full": "--model llama3-8b --layers 8 --dp 4 --tp 4 --pp 2 --cp 2 --microbatches 2 --zero 1",
    "deepseek-full": "--model deepseek-v3-16b --layers 8 --dp 4 --tp 2 --ep 4 --dispatch",
    "L3": "--preset L3",
    "D3": "--preset D3",
}


def run(*arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def files_of(planproof, plan, folder):
    if plan in ("llama", "moe"):
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data", "nnscaler")
        return [glob.glob(os.path.join(data, f"{plan}*_default_{degrees}_*"))[0]
                for degrees in ("dp1_pp1_tp1_nm1", "dp2_pp2_tp2_nm2")]
    made = run(planproof, "generate", *PLANS.get(plan, plan).split(), "--output", folder)
    if made.returncode != 0:
        sys.exit(made.stdout)
    return [os.path.join(folder, "logical.plan"), os.path.join(folder, "parallel.plan")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planproof")
    parser.add_argument("plan")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=0, help="stop after so long")
    parser.add_argument("--csv", default=os.devnull)
    options = parser.parse_args()
    rows = []
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder:
        files = files_of(options.planproof, options.plan, folder)
        kind = "deviation" if options.plan in ("L3", "D3") else "random"
        broken = os.path.join(folder, "broken.plan")
        seed = options.seed
        while sum(row["verdict"] in ("REFUTED", "UNKNOWN") for row in rows) < options.faults:
            if options.most_seconds and time.time() - begin > options.most_seconds:
                break
            made = run(options.planproof, "mutate", *files, "--kind", kind, "--seed", str(seed), "-o", broken)
            seed += 1
            if made.returncode != 0:
                continue
            start = time.time()
            printed = run(options.planproof, "verify", "-q", "--no-cache", broken).stdout
            row = {"seed": seed - 1, "verdict": printed.split(":")[0], "seconds": round(time.time() - start, 3),
                   "fault": made.stdout.strip().split("\n")[-1], "first": printed.split("\n")[0][:300]}
            rows.append(row)
            if row["verdict"] not in ("REFUTED", "PROVED", "MALFORMED"):
                print(f'{row["verdict"]} seed {row["seed"]} {row["seconds"]} s [{row["fault"]}] {row["first"][:160]}', flush=True)
    with open(options.csv, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    times = sorted(row["seconds"] for row in rows if row["verdict"] == "REFUTED")
    counts = collections.Counter(row["verdict"] for row in rows)
    differing = counts["REFUTED"] + counts["UNKNOWN"]
    print(f'{options.plan}: {dict(counts)}; REFUTED in {statistics.median(times):.2f} s (median), {times[-1]:.2f} s (most); '
          f'UNKNOWN {100 * counts["UNKNOWN"] / differing:.1f} % of {differing}')


if __name__ == "__main__":
    main()
