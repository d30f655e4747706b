#!/usr/bin/env python3
"""How time depends on the size of a plan: the six published runs, and one degree or dimension at a time.

    sweeps.py [--build DIR] [--only NAME ...] [--runs N]

Each point is a plan that `planproof generate` writes. `planproof verify` runs on it as a whole command,
with 2 jobs, with 1 job, without classes (every claim decided by itself), with a cache on disk that an
earlier run has filled, and without the lineage of computed tensors, which is then inferred. Medians of N runs (3); processor time is that of the command and its workers,
and depends less than wall time on what else the machine does; so does the least time of the runs for
evaluating and deciding, `proving_least_s`. A run ends after 120 s. Writes
results/presets.csv and results/sweeps.csv; write_page.py and plots.py show them.
"""
import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "benchmarks", "results")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from measure_memory import peak_mebibytes  # noqa: E402

LIMIT_S = 120
VERDICTS = ["PROVED", "REFUTED", "MALFORMED", "UNKNOWN"]
PRESETS = ["L1", "L2", "L3", "D1", "D2", "D3"]


@dataclass
class Sweep:
    name: str
    title: str  # what is on the horizontal axis
    option: str  # of planproof generate
    values: list
    base: list  # other options
    theirs: dict = field(default_factory=dict)  # published seconds by value


def options(text):
    return text.split()


# TrainVerify (SOSP '25), figure 7: the shape of Llama 3 8B with 32 layers, on 30 workers. Where it
# is flat only the level is published.
SMALL = options("--model llama3-8b --dp 2 --tp 2 --pp 2 --microbatches 2")
LARGE = options("--model llama3-8b --dp 16 --tp 8 --pp 4 --microbatches 8")


def without(arguments, option):
    at = arguments.index(option)
    return arguments[:at] + arguments[at + 2:]


SWEEPS = [
    Sweep("batch", "sequences per microbatch", "--sequences", [1, 2, 4, 8, 16], SMALL,
          {1: 15, 16: 15}),
    Sweep("hidden", "hidden size", "--hidden", [1024, 2048, 4096, 8192, 16384], SMALL,
          {1024: 15, 16384: 15}),
    Sweep("sequence", "sequence length", "--sequence", [1024, 4096, 8192, 32768, 131072, 1048576], SMALL,
          {1024: 15, 131072: 15}),
    Sweep("heads", "attention heads", "--heads", [8, 16, 32, 64, 128], SMALL, {8: 15, 128: 15}),
    Sweep("pp", "pipeline stages", "--pp", [2, 4, 8, 16], without(SMALL, "--pp"),
          {2: 14.9, 4: 15.2, 8: 15.5, 16: 16.0}),
    Sweep("layers", "layers", "--layers", [4, 8, 16, 32, 64, 126], LARGE,
          {4: 143, 8: 242, 16: 497, 32: 949}),
    Sweep("dp", "data-parallel ranks", "--dp", [2, 4, 8, 16, 32, 64, 256, 1024], without(LARGE, "--dp"),
          {2: 115, 8: 447, 16: 914, 32: 2093, 64: 3670}),
    Sweep("microbatches", "microbatches", "--microbatches", [2, 4, 8, 16, 32],
          without(LARGE, "--microbatches"), {2: 224, 4: 452, 8: 851, 16: 1714, 32: 3532}),
    Sweep("tp", "tensor-parallel ranks", "--tp", [1, 2, 4, 8], without(LARGE, "--tp"),
          {1: 107, 2: 261, 4: 412, 8: 875}),
    # GraphGuard, figure 5: one layer of GPT by degree, and more layers at degree 2; theirs without a
    # backward pass. A model with 128 heads, so that they divide.
    Sweep("degree", "degree of tensor and sequence parallelism", "--tp", [2, 4, 8, 16, 32, 64],
          options("--model gpt3-175b --layers 1 --hidden 16384 --heads 128 --sequences 2 "
                  "--sequence-parallel")),
    Sweep("gpt-layers", "layers at degree 2", "--layers", [1, 2, 4, 8, 16],
          options("--model gpt3-175b --tp 2 --sequences 2 --sequence-parallel")),
]


@dataclass
class Measurement:
    verdict: str
    wall_s: float = 0
    processor_s: float = 0
    report: dict = field(default_factory=dict)
    proving_least_s: float = 0  # of several runs

    def proving_s(self):
        times = self.report.get("time_s", {})
        return times.get("evaluate", 0) + times.get("decide", 0)


def run_once(command, report):
    if os.path.exists(report):
        os.remove(report)
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        wall = time.monotonic() - start
        if done:
            break
        if wall > LIMIT_S:
            process.terminate()
            os.wait4(process.pid, 0)
            return Measurement("out of time", wall, 0)
        time.sleep(0.0005 if wall < 1 else 0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    verdict = VERDICTS[process.returncode] if 0 <= process.returncode < 4 else str(process.returncode)
    told = json.load(open(report, encoding="utf-8")) if os.path.exists(report) else {}
    return Measurement(verdict, wall, usage.ru_utime + usage.ru_stime, told)


class Bench:
    def __init__(self, build, runs):
        self.planproof = os.path.join(os.path.abspath(build), "cli", "planproof")
        self.runs = runs
        self.scratch = tempfile.mkdtemp(prefix="planproof_sweeps_")
        self.report = os.path.join(self.scratch, "report.json")

    def generate(self, arguments):
        """The plan's files, and the seconds that it took to write them."""
        target = os.path.join(self.scratch, "plan")
        shutil.rmtree(target, ignore_errors=True)
        start = time.monotonic()
        subprocess.run([self.planproof, "generate", *arguments, "--output", target], check=True,
                       stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        return [os.path.join(target, name) for name in ("logical.plan", "parallel.plan")], seconds

    def command(self, files, *arguments):
        return [self.planproof, "verify", "-q", "--json", self.report, *arguments, *files]

    def median(self, command):
        """Medians of several runs; the report is that of the run with the median time. One run is
        enough to find that there is no verdict in time."""
        done = []
        for _ in range(self.runs):
            done.append(run_once(command, self.report))
            if done[-1].verdict == "out of time":
                return done[-1]
        done.sort(key=lambda measurement: measurement.wall_s)
        middle = done[len(done) // 2]
        middle.processor_s = statistics.median(m.processor_s for m in done)
        middle.proving_least_s = min(m.proving_s() for m in done)
        return middle

    def ways(self, files):
        """Measurements by the way of running."""
        cold = ["--no-cache"]
        yield "2 jobs", self.median(self.command(files, *cold, "--jobs", "2"))
        yield "1 job", self.median(self.command(files, *cold, "--jobs", "1"))
        yield "without classes", self.median(
            self.command(files, *cold, "--jobs", "2", "--no-classes"))
        cache = os.path.join(self.scratch, "cache")
        shutil.rmtree(cache, ignore_errors=True)
        warm = self.command(files, "--cache", cache, "--jobs", "2")
        run_once(warm, self.report)
        yield "warm cache", self.median(warm)
        yield "without lineage", self.median(
            self.command(files, *cold, "--jobs", "2", "--discard-lineage"))

    def rows(self, sweep):
        for value in sweep.values:
            files, _ = self.generate([*sweep.base, sweep.option, str(value)])
            for way, measured in self.ways(files):
                yield {"sweep": sweep.name, "value": value, "way": way, **columns(measured)}

    def preset_rows(self, names):
        for name in names:
            files, seconds = self.generate(["--preset", name])
            size = sum(os.path.getsize(path) for path in files)
            memory = peak_mebibytes(self.command(files, "--no-cache", "--jobs", "2"))
            for way, measured in self.ways(files):
                yield {"preset": name, "way": way, "generate_s": round(seconds, 3),
                       "files_mb": round(size / 1e6, 2), "peak_mib": round(memory), **columns(measured)}


def columns(measured):
    report = measured.report
    times = report.get("time_s", {})
    return {"verdict": measured.verdict, "wall_s": round(measured.wall_s, 4),
            "processor_s": round(measured.processor_s, 4),
            **{step + "_s": round(times.get(step, 0), 4)
               for step in ("read", "check", "cut", "reduce", "evaluate", "decide", "workers")},
            "proving_least_s": round(measured.proving_least_s, 4),
            "claims": report.get("stages", {}).get("total", ""),
            "classes": report.get("stages", {}).get("classes", ""),
            "load": round(os.getloadavg()[0], 1),  # of the machine, our own processes included
            "operators": report.get("operators", {}).get("parallel", ""),
            "covered": report.get("operators", {}).get("covered", "")}


def write(name, rows, key):
    """Replaces the rows of a results file that have the same key."""
    path = os.path.join(RESULTS, name)
    kept = []
    if os.path.exists(path):
        fresh = {row[key] for row in rows}
        with open(path, encoding="utf-8", newline="") as stream:
            kept = [row for row in csv.DictReader(stream) if row[key] not in fresh]
    order = [sweep.name for sweep in SWEEPS] + PRESETS
    everything = sorted(kept + rows, key=lambda row: order.index(row[key]))
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(everything)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these sweeps and presets")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    known = PRESETS + [sweep.name for sweep in SWEEPS]
    for name in given.only or []:
        if name not in known:
            parser.error(f"no sweep or preset '{name}'; there are {', '.join(known)}")
    wanted = given.only or known
    bench = Bench(given.build, given.runs)
    os.makedirs(RESULTS, exist_ok=True)

    def show(row, key):
        print("%-14s %-16s %-11s %8.3f s wall %8.3f s processor, %s claims in %s classes" % (
            key, row["way"], row["verdict"], row["wall_s"], row["processor_s"], row["claims"],
            row["classes"]), flush=True)

    try:
        for name in wanted:
            if name in PRESETS:
                rows = []
                for row in bench.preset_rows([name]):
                    show(row, name)
                    rows.append(row)
                write("presets.csv", rows, "preset")
                continue
            rows = []
            for row in bench.rows(next(sweep for sweep in SWEEPS if sweep.name == name)):
                show(row, f"{name} {row['value']}")
                rows.append(row)
            write("sweeps.csv", rows, "sweep")
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
