#!/usr/bin/env python3
"""Times `planproof monitor`: journals of one and of four ranks, TrainCheck's traces, and the largest of these repeated until it has 35,
140 and 550 MB. CPU time (user and system) and peak memory of the process, medians of several runs with a warm page cache.

    monitor_speed.py BUILD [--runs N] [--largest MB]

Writes benchmarks/results/monitor_speed.csv. Traces that are not in ../shared/data are left out."""
import argparse
import csv
import os
import pathlib
import shutil
import statistics
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import monitor_journals  # noqa: E402

TRACES = pathlib.Path(os.environ.get("PLANPROOF_SHARED", ROOT.parent / "shared")) / "data/monitor/traincheck"
PROGRAMS = ("cnn_sgd", "gpt_adamw", "ddp_mlp.sampler")
#: Seconds that learning from both references, and checking one run, may take.
BUDGETS = {"cnn_sgd": 0.05, "gpt_adamw": 0.1, "ddp_mlp.sampler": 0.05}
CHECK_BUDGET = 0.05
LEAST_RATE, MOST_MEMORY, MOST_GROWTH = 200, 256, 1.15
SIZES = (35, 140, 550)
BYTES_OF_STEP = 195_000


def measured(command, runs):
    """Median CPU seconds, largest peak memory in MiB, exit status."""
    seconds, memory, status = [], 0.0, 0
    for _ in range(runs):
        process = os.posix_spawn(command[0], [str(word) for word in command], os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(process, 0)
        seconds.append(usage.ru_utime + usage.ru_stime)
        memory = max(memory, usage.ru_maxrss / 1024)
    return statistics.median(seconds), memory, os.waitstatus_to_exitcode(status)


def megabytes(path):
    return sum(each.stat().st_size for each in pathlib.Path(path).rglob("*") if each.is_file()) / 1e6


def repeated(trace, directory, size):
    """A trace whose largest file is written as often as it takes to have so many MB."""
    shutil.copytree(trace, directory)
    largest = max((each for each in directory.rglob("*") if each.is_file()), key=lambda each: each.stat().st_size)
    content = largest.read_bytes()
    largest.chmod(0o644)
    with open(largest, "ab") as stream:
        for _ in range(max(0, round((size - megabytes(directory)) * 1e6 / len(content)))):
            stream.write(content)
    return directory


class Table:
    """Rows of the results, printed as they come."""

    def __init__(self, runs):
        self.rows, self._runs = [], runs

    def time(self, name, size, command, budget=None):
        seconds, memory, status = measured(command, self._runs)
        rate = size / seconds if seconds else float("inf")
        self.rows.append({"what": name, "mb": round(size, 1), "cpu_s": round(seconds, 3), "mb_per_s": round(rate),
                          "peak_mib": round(memory), "exit": status, "budget_s": budget})
        print(f"{name:42} {size:7.1f} MB {seconds:7.3f} s {rate:6.0f} MB/s {memory:5.0f} MiB exit {status}"
              f"{f'   budget {budget} s' if budget else ''}", flush=True)
        return seconds


def journals(binary, directory, size, table):
    for world in (1, 4):
        run = directory / f"{world} ranks"
        run.mkdir()
        for rank in range(world):
            monitor_journals.write(run / f"rank{rank:05d}.journal", int(size * 1e6 / BYTES_OF_STEP / world), rank=rank, world=world)
        table.time(f"check a journal, ranks {world}", megabytes(run), [binary, "monitor", "check", run])
        shutil.rmtree(run)


def traces(binary, directory, largest, table):
    for archive in TRACES.glob("*.ref?.tar.xz"):
        with tarfile.open(archive) as packed:
            packed.extractall(directory, filter="data")
    for program in PROGRAMS:
        references = [directory / f"{program}.ref{number}" for number in (0, 1)]
        facts = directory / f"{program}.facts"
        table.time(f"learn {program}", sum(map(megabytes, references)),
                   [binary, "monitor", "learn", *references, "-o", facts], BUDGETS[program])
        table.time(f"check {program}", megabytes(references[1]),
                   [binary, "monitor", "check", references[1], "--invariants", facts], CHECK_BUDGET)
    trace = max((directory / f"{program}.ref0" for program in PROGRAMS), key=megabytes)
    first = None
    for size in [each for each in SIZES if each <= largest]:
        long = repeated(trace, directory / f"long{size}", size)
        seconds = table.time(f"learn {trace.name} repeated", megabytes(long),
                             [binary, "monitor", "learn", long, trace, "-o", directory / "long.facts"])
        if first is None:
            first = seconds / megabytes(long)
        else:
            print(f"    {seconds / megabytes(long) / first:.2f} times linear, at most {MOST_GROWTH}")
        shutil.rmtree(long)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=str(ROOT / "build"), help="build directory, or the program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--largest", type=float, default=max(SIZES), help="MB of the longest trace and journal")
    options = parser.parse_args()
    binary = options.build if os.path.isfile(options.build) else os.path.join(options.build, "cli", "planproof")
    table = Table(options.runs)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        journals(binary, directory, min(options.largest, 140), table)
        if TRACES.is_dir():
            traces(binary, directory, options.largest, table)
    results = ROOT / "benchmarks/results/monitor_speed.csv"
    with open(results, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(table.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.rows)
    slow = [row["what"] for row in table.rows if row["exit"] != 0 or (row["mb_per_s"] < LEAST_RATE and row["mb"] > 30) or row["peak_mib"] > MOST_MEMORY or
            (row["budget_s"] and row["cpu_s"] > row["budget_s"])]
    print(f"beyond the budget, or failed: {', '.join(slow)}" if slow else
          f"within the budgets: {LEAST_RATE} MB/s, {MOST_MEMORY} MiB")


if __name__ == "__main__":
    main()
