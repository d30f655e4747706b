#!/usr/bin/env python3
"""How often the first line of a refutation names the fault that was put into a plan.

    scripts/measure_diagnosis.py PLANPROOF [--rows BR1,C1] [--plans 0-15 | --plan OPTIONS ...] [--per-row 3] [--seed 3] [--random 500]
                                 [--csv FILE] [--jobs 2]

Each row of docs/bugs.md goes into --per-row of the plans below, which no test uses. With --random, random faults go into
the plans in turn instead. Three answers are counted: the first cause is the one that was injected (CAUSES for rows, RANDOM for kinds of
random faults); the operator that was changed is named in the first line or among the stage's; neither. What stands behind a
semicolon does not count.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time

PLANS = [
    "--model llama-tiny --layers 3 --heads 6 --hidden 24 --key-value-heads 6 --dp 3 --tp 3 --pp 3 --microbatches 3 --zero 1 --vocabulary 48",
    "--model deepseek-tiny --dp 2 --tp 2 --cp 2 --sequence-parallel --sequence 16",
    "--model gpt-tiny --heads 6 --hidden 12 --tp 3 --cp 2 --sequence 12 --vocabulary 48 --sequence-parallel --sequences 2",
    "--model qwen-tiny --dp 2 --cp 4 --pp 2 --microbatches 2 --sequence 16 --sequences 2 --zero 2",
    "--model llama3-8b --layers 4 --dp 4 --tp 2 --pp 2 --cp 2 --microbatches 4 --zero 3",
    "--model qwen2-7b --layers 4 --tp 2 --cp 2 --dp 2 --sequence-parallel --zero 1 --key-value-heads 28",
    "--model gpt3-350m --layers 4 --dp 2 --tp 4 --pp 2 --microbatches 4 --sequence-parallel --zero 1",
    "--model deepseek-v3-16b --layers 3 --dp 4 --tp 2 --cp 2 --zero 2",
    "--model deepseek-tiny --dp 2 --ep 2 --dispatch --pp 2 --microbatches 2",
    "--model llama-tiny --layers 4 --pp 2 --cp 2 --zigzag --sequence 16 --microbatches 4 --schedule 1f1b --recompute",
    "--model gpt3-125m --layers 4 --pp 2 --microbatches 4 --schedule interleaved --virtual-stages 2 --dp 2 --tp 2",
    "--model qwen-tiny --layers 4 --dp 2 --tp 2 --pp 4 --microbatches 8 --schedule 1f1b --zero 1 --recompute",
    "--model deepseek-tiny --layers 3 --tp 4 --dp 2 --sequence-parallel --sequence 16 --zero 1",
    "--model deepseek-v3-16b --layers 2 --tp 4 --dp 2 --sequence-parallel --microbatches 2",
    "--model gpt3-760m --layers 4 --dp 2 --pp 2 --cp 2 --microbatches 2 --zero 2",
    "--model llama-tiny --heads 4 --key-value-heads 4 --tp 4 --dp 2 --cp 2 --sequence 16 --sequences 2",
]

# What says that the cause is the row's, in the first line.
SUM = r"contribution of [^;]* missing|sum over [^;]*missing|only the term of|runs over [^;]*: over [^;]* would be right"
NUMBER = r"a constant of|what runs at|number added|eps|exponent"
CAUSES = {
    "BR1": SUM, "BR5": SUM, "BR7": NUMBER, "BR8": NUMBER + r"|in place of", "BR9": NUMBER,
    "BR10": r"in place of|counted once too often|twice", "BR11": r"in place of|exchanged",
    "BR12": NUMBER + r"|times too (small|large)", "BR13": NUMBER + r"|times too small",
    "BR14": r"sum over microbatch missing|microbatch", "C1": r"the slice of", "GG1": r"the slice of",
    "GG2": r"a chunk would be right|adds over|= size of tp", "GG5": SUM, "GG6": r"number of microbatches",
    "TT1": r"takes the slice of|the slice of", "TT2": r"in place of", "TT3": r"= [^;]*size of ([a-z]+ or )*cp",
    "TT4": r"= [^;]*size of ([a-z]+ or )*dp", "TT5": SUM + r"|the term [^;]* is missing", "TT6": SUM, "TT9": r"unchanged",
    "TT7": r"runs over [^;]* where [^;]* would be right|runs over [^;]*: over [^;]* would be right|its relation names",
    "TT10": r"in place of", "TT12": SUM, "TT13": r"in another order", "TT14": r"= size of|adds over|would be right",
    "X1": r"what runs at", "X4": SUM, "X6": r"its relation names|is cut|shape mismatch",
    "BR2": r"which nothing produces", "BR3": r"shape|has extent", "BR4": r"shape|has extent", "BR6": r"is used on device",
    "C2": r"is produced by", "C3": r"which nothing produces", "S1": r"step \d+ .*reads", "S2": r"in another order",
}

# Of random faults: the kind is the word before the colon.
RANDOM = {
    "swapped operands": r"in place of|exchanged|in another order",
    "wrong operand": r"in place of|takes the slice|unchanged|stale",
    "repeated operand": r"in place of|exchanged",
    "operator skipped": SUM + r"|the term [^;]* is missing|is not added|unchanged|in another order|in place of|times too|"
                        r"a chunk would be right|the slice of",
    "wrong constant": r"a constant of|exponent|what runs at|times too|number|added",
    "wrong arithmetic": r"where (multiplying|adding|dividing|the m..imum) would be right|is needed",
    "missing term": r"leaves out the last term|contribution of|only the term of",
    "wrong offset": r"where -?\d+ would be right|shifted|the slice of|number added",
    "exchanged indices": r"exchanged|in another order",
    "wrong factor": r"times too (small|large)|counts -?[0-9/]+ (of|times) what it must|is added [0-9]+ times",
    "operator removed": r"nothing produces",
    "wrong device": r"device",
}


def run(*arguments, timeout=300):
    try:
        return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, 124, "TIMEOUT", "")


def judge(planproof, folder, what, plan, kind, seed):
    """One fault in one plan: a dictionary for a line of the table, or None if it has no place there."""
    logical, parallel = (os.path.join(folder, f"P{plan}", name) for name in ("logical.plan", "parallel.plan"))
    broken = os.path.join(folder, f"{kind}-{plan}-{seed}.plan")
    made = run(planproof, "mutate", logical, parallel, "--kind", kind, "--seed", str(seed), "-o", broken)
    if made.returncode != 0:
        return None
    report = broken + ".json"
    start = time.time()
    printed = run(planproof, "verify", "--no-cache", "-q", "--json", report, broken)
    seconds = time.time() - start
    row = {"kind": kind, "plan": plan, "seed": seed, "fault": made.stdout.strip().split("\n")[-1], "verdict": "?",
           "first": (printed.stdout + printed.stderr).split("\n")[0], "seconds": round(seconds, 2), "judged": "-"}
    try:
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        row["verdict"] = found["verdict"]
        names = ""
        if found["violations"]:
            first = found["violations"][0]
            row["first"] = f'{first["stage"]}: {first["cause"] or first["message"]}'
            names = row["first"] + " " + " ".join(first["parallel_operators"]) + " " + first["logical_operator"]
        row["judged"] = judged(what, kind, row, names)
        os.remove(report)
    except (OSError, ValueError):
        pass
    os.remove(broken)
    return row


def judged(what, kind, row, names):
    if row["verdict"] not in ("REFUTED", "MALFORMED"):
        return row["verdict"]
    fault = row["fault"]
    pattern = CAUSES.get(kind)
    if what == "random":
        pattern = next((p for word, p in RANDOM.items() if word in fault), None)
    if row["verdict"] == "MALFORMED" and what == "random":
        pattern = pattern if "removed" in fault or "device" in fault else None
    cause = row["first"].split(": ", 1)[-1].split("; ")[0]  # of several the first
    if pattern and "value differs" not in cause and re.search(pattern, cause):
        return "cause"
    label = re.search(r"\(([^()]*)\)", fault)
    return "operator" if label and label.group(1) in names else "neither"


def numbers(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planproof")
    parser.add_argument("--rows", default=",".join(CAUSES))
    parser.add_argument("--plans", default=f"0-{len(PLANS) - 1}")
    parser.add_argument("--per-row", type=int, default=3)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--random", type=int, default=0, help="this many random faults, seeds from --seed on")
    parser.add_argument("--plan", action="append", help="options of `generate`, in place of the plans above")
    parser.add_argument("--csv", default=os.devnull)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    made_by = options.plan or PLANS
    plans = list(range(len(options.plan))) if options.plan else list(numbers(options.plans))
    rows = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for plan in plans:
            made = run(options.planproof, "generate", *made_by[plan].split(), "--output", os.path.join(folder, f"P{plan}"))
            if made.returncode != 0:
                sys.exit(f"plan {plan}: {made.stdout}{made.stderr}")

        def of_row(kind):
            found = []
            for plan in plans[hash_of(kind) % len(plans):] + plans[:hash_of(kind) % len(plans)]:
                if len(found) == options.per_row:
                    break
                row = judge(options.planproof, folder, "row", plan, kind, options.seed)
                found += [row] if row else []
            return found

        def of_seed(seed):
            row = judge(options.planproof, folder, "random", plans[seed % len(plans)], "random", seed)
            return [row] if row else []

        jobs = range(options.seed, options.seed + options.random) if options.random else options.rows.split(",")
        for found in pool.map(of_seed if options.random else of_row, jobs):
            rows += found
            for row in found:
                if row["judged"] != "cause":
                    print(f'{row["judged"]}: {row["kind"]} P{row["plan"]} seed {row["seed"]} [{row["fault"]}] '
                          f'{row["seconds"]} s {row["first"][:300]}', flush=True)
    with open(options.csv, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    counts = collections.Counter(row["judged"] for row in rows)
    wrong = sum(counts[word] for word in ("cause", "operator", "neither"))
    places = collections.Counter(row["kind"] for row in rows)
    print(f"{len(rows)} faults: {dict(counts)}; of {wrong} found, the cause comes first in "
          f"{100 * counts['cause'] / max(1, wrong):.1f} %")
    if not options.random:
        print("rows with fewer places:", {k: places[k] for k in jobs if places[k] < options.per_row})


def hash_of(kind):
    """Rows begin at different plans, the same ones each time."""
    return sum(map(ord, kind)) * 7


if __name__ == "__main__":
    main()
