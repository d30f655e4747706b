#!/usr/bin/env python3
"""Random combinations of strategies at published dimensions: each must be PROVED.

    tests/random/strategy_combinations.py --first 1 --count 300 --csv combinations.csv

One line for each plan: verdict, seconds of `verify`, and the command that generates the plan. A
combination follows from its seed alone. Every third one is in zigzag order. Ends with 1 if a plan
is not PROVED, or takes longer than --limit seconds.
"""

import argparse
import collections
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import time

MODELS = [
    "gpt3-125m", "gpt3-350m", "gpt3-760m", "gpt3-1.3b", "gpt3-2.7b", "gpt3-6.7b", "gpt3-13b",
    "gpt3-175b", "llama3-8b", "llama3-70b", "llama3-405b", "qwen2-7b", "qwen2-72b",
    "deepseek-v3-16b", "deepseek-v3-236b", "deepseek-v3-671b"
]


def draw(choose, zigzag):
    """Arguments of `planproof generate`; not every draw can be combined."""
    model = choose.choice(MODELS)
    experts = model.startswith("deepseek")
    layers = choose.randint(3, 8)
    arguments = ["--model", model, "--layers", str(layers)]

    def degree(name, values):
        value = choose.choice(values)
        if value > 1:
            arguments.extend(["--" + name, str(value)])
        return value

    dp = degree("dp", [1, 2, 4, 16, 64])
    tp = degree("tp", [1, 1, 2, 4, 8])
    pp = degree("pp", [1, 1, 2, 4])
    microbatches = degree("microbatches", [1, 2, 4, 8, 16])
    cp = degree("cp", [2, 4, 8, 16, 32] if zigzag else [1, 1, 1, 2, 4, 8, 16])
    if zigzag:
        arguments.append("--zigzag")
    if cp > 1 and choose.random() < 0.5:
        arguments.append("--ring")
    if tp > 1 and choose.random() < 0.5:
        arguments.append("--sequence-parallel")
        if choose.random() < 0.2:
            arguments.extend(["--whole-sequence-layers", str(choose.randrange(layers))])
    if experts and choose.random() < 0.5:
        arguments.append("--dispatch")
        degree("ep", [1, 2, 4, 8])
    if dp > 1 and choose.random() < 0.6:
        arguments.extend(["--zero", str(choose.randint(1, 3))])
    if choose.random() < 0.3:
        arguments.append("--recompute")
    if choose.random() < 0.2:
        arguments.extend(["--loss-scale", choose.choice(["2", "1024", "65536"])])
    if choose.random() < 0.2:
        arguments.extend(["--sequences", str(choose.choice([2, 4]))])
    if choose.random() < 0.2:
        arguments.extend(["--sequence", str(choose.choice([4096, 16384, 131072]))])
    if pp > 1 and microbatches > 1 and choose.random() < 0.5:
        schedule = choose.choice(["gpipe", "1f1b", "interleaved"])
        arguments.extend(["--schedule", schedule])
        if schedule == "interleaved":
            arguments.extend(["--virtual-stages", "2"])
    return arguments


def run(program, arguments, **options):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          **options)


def generated(program, seed, zigzag, folder):
    """The first draw of the seed that can be combined, and its plan in `folder`."""
    choose = random.Random(seed)
    for _ in range(1000):
        arguments = draw(choose, zigzag)
        if run(program, ["generate", *arguments, "--output", folder]).returncode == 0:
            return arguments
    sys.exit(f"seed {seed}: nothing can be combined")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/cli/planproof")
    parser.add_argument("--first", type=int, required=True, help="the first seed")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--limit", type=float, default=20, help="seconds that a plan may take")
    parser.add_argument("--only-zigzag", action="store_true")
    parser.add_argument("--csv", default=os.devnull)
    options = parser.parse_args()
    verdicts, slowest, failed = collections.Counter(), (0.0, ""), 0
    with open(options.csv, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["seed", "verdict", "seconds", "bytes", "command"])
        for seed in range(options.first, options.first + options.count):
            zigzag = seed % 3 == 0
            if options.only_zigzag and not zigzag:
                continue
            with tempfile.TemporaryDirectory() as folder:
                arguments = generated(options.program, seed, zigzag, folder)
                plans = [os.path.join(folder, name) for name in ("logical.plan", "parallel.plan")]
                size = os.path.getsize(plans[1])
                begin = time.monotonic()
                done = run(options.program, ["verify", "--no-cache", "--jobs", "2", *plans])
                seconds = time.monotonic() - begin
            word = re.match(r"[A-Z]+", done.stdout)
            verdict = word.group() if word else f"exit {done.returncode}"
            command = "planproof generate " + " ".join(arguments)
            verdicts[verdict] += 1
            slowest = max(slowest, (seconds, command))
            failed += verdict != "PROVED" or seconds > options.limit
            rows.writerow([seed, verdict, f"{seconds:.2f}", size, command])
            file.flush()
            print(f"{seed} {verdict} {seconds:.2f} s  {command}", flush=True)
            if verdict != "PROVED":
                print("\n".join(done.stdout.splitlines()[:6]), flush=True)
    print(f"{dict(verdicts)}; slowest {slowest[0]:.1f} s: {slowest[1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
