"""Lines of the acceptance list about plans that used to be UNKNOWN or slow: rings, zigzag order, many
devices, small shapes, random combinations of strategies."""
import csv
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure_memory import peak_mebibytes  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMBINATIONS = os.path.join(ROOT, "tests", "random", "strategy_combinations.py")
LLAMA_405B = ("--model llama3-405b --tp 8 --cp 16 --pp 16 --dp 8 --sequence 131072")
# Arguments of `planproof generate`, seconds, MiB of the largest process.
PLANS = [
    ("--model gpt-tiny --cp 4 --ring --zigzag", 1, 1024),
    ("--model llama-tiny --cp 8 --ring", 1, 1024),
    ("--model llama-tiny --cp 4 --zigzag", 1, 1024),
    ("--model deepseek-tiny --cp 4 --zigzag --dispatch", 5, 1024),
    ("--model llama3-8b --layers 4 --cp 64 --ring", 5, 2048),
    ("--model llama3-8b --layers 4 --cp 64 --zigzag", 5, 2048),
    ("--model llama3-8b --layers 4 --cp 64 --ring --zigzag", 5, 2048),
    ("--model deepseek-v3-671b --cp 2 --zigzag --dispatch", 10, 1024),
    ("--model deepseek-v3-671b --cp 4 --zigzag --dispatch", 10, 1024),
    (LLAMA_405B, 10, 1024),
    (LLAMA_405B + " --ring", 10, 1024),
    (LLAMA_405B + " --zigzag", 10, 1024),
    ("--model deepseek-v3-671b --dp 24 --pp 16 --ep 256 --dispatch", 10, 1024),
    ("--model llama3-8b --layers 2 --cp 16 --zigzag --sequence 16777216", 5, 1024),
]


def generated(acceptance, line):
    """Rings and zigzag order to cp 64, 405B on 16,384 and 671B on 98,304 GPUs: PROVED in seconds."""
    for number, (arguments, seconds, mebibytes) in enumerate(PLANS):
        directory = os.path.join(acceptance.scratch, f"cliff{number}")
        line.run(acceptance.planproof, "generate", *arguments.split(), "--output", directory, show=0)
        files = [os.path.join(directory, name) for name in ("logical.plan", "parallel.plan")]
        runs = []
        for _ in range(3):
            start = time.monotonic()
            verdict, _, report = acceptance.verify(line, files, show=0)
            runs.append(time.monotonic() - start)
        took = statistics.median(runs)
        operators = report.get("operators", {})
        memory = peak_mebibytes([acceptance.planproof, "verify", "--no-cache", "-q", *files])
        print(f"    {verdict} {took:.2f} s {memory:.0f} MiB  {arguments}", flush=True)
        line.require(verdict == "PROVED" and operators["covered"] == operators["parallel"],
                     f"{arguments}: {verdict}, {operators}")
        line.require(took <= seconds, f"{arguments}: {took:.2f} s, limit {seconds}")
        line.require(memory <= mebibytes, f"{arguments}: {memory:.0f} MiB, limit {mebibytes}")


def combinations(acceptance, line):
    """300 random combinations of strategies at published dimensions are PROVED in <= 20 s each."""
    count = 300 if acceptance.full else 12
    table = os.path.join(acceptance.scratch, "combinations.csv")
    code, _ = line.run(sys.executable, COMBINATIONS, "--program", acceptance.planproof, "--first",
                       "8000001", "--count", str(count), "--csv", table, timeout=14400, show=3)
    with open(table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    line.require(code == 0 and len(rows) == count, f"exit code {code}, {len(rows)} of {count}")
    if not acceptance.full:
        line.open("300 combinations: with --full")


LINES = [generated, combinations]
