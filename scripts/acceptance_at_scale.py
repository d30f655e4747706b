"""Lines of the acceptance list about generated plans: the six published runs at full size, and how time
grows with degrees and dimensions."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
from measure_memory import peak_mebibytes  # noqa: E402
import sweeps  # noqa: E402

PRESETS = sweeps.PRESETS
RUNS = 3


def presets_are_written(acceptance, line):
    """planproof generate writes L1, L2, L3, D1, D2, D3 in <= 30 s each, files <= 50 MB."""
    for name in PRESETS:
        start = time.monotonic()
        files = acceptance.generated(line, name)
        seconds = time.monotonic() - start
        if all(os.path.exists(path) for path in files):
            megabytes = sum(os.path.getsize(path) for path in files) / 1e6
            line.require(seconds <= 30 and megabytes <= 50,
                         f"{name}: {seconds:.2f} s, {megabytes:.1f} MB")


def models_match_jax(_, line):
    """Logical plans of small models match independent JAX models to 1e-9."""
    line.tests("loss, gradients, two AdamW steps", r"models\.ModelsGoldenTest\.\w+MatchesJax")
    line.by_hand("the goldens are what tests/models/make_goldens.py writes (needs jax and optax)")


def presets_are_proved(acceptance, line):
    """The six runs are PROVED in <= 60 s and <= 8 GiB, all instances covered, their count checked."""
    print("      run      read   check     cut  reduce evaluate decide   total  memory   classes of claims")
    for name in PRESETS:
        files = acceptance.generated(line, name)
        times, verdicts = [], set()
        for _ in range(RUNS):
            start = time.monotonic()
            verdict, _, report = acceptance.verify(line, files, "-q", show=0)
            times.append((time.monotonic() - start, report))
            verdicts.add(verdict)
        seconds, report = sorted(times, key=lambda run: run[0])[RUNS // 2]
        memory = peak_mebibytes([acceptance.planproof, "verify", "-q", "--no-cache", "--jobs", "2",
                                 *files])
        steps = report["time_s"]
        print("      %-5s" % name + "".join("%8.3f" % steps[step] for step in (
            "read", "check", "cut", "reduce", "evaluate", "decide", "total")) + "%6.0f MB" % memory +
              "%6d of %d" % (report["stages"]["classes"], report["stages"]["total"]))
        line.require(verdicts == {"PROVED"} and seconds <= 60 and memory <= 8192,
                     f"{name}: {', '.join(verdicts)}, median of {RUNS} {seconds:.2f} s, {memory:.0f} MiB")
        path = os.path.join(acceptance.scratch, name + ".json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(report, stream)
        code, text = line.run("python3", os.path.join(ROOT, "scripts", "count_instances.py"),
                              "--preset", name, "--report", path)
        line.require(code == 0, f"{name}: instances {text.strip()}")
    line.tests("counts of small plans", r"models\.Models/InstanceCountTest\..*")


def times_of(bench, sweep):
    """{value: (verdict, processor seconds of the command, seconds of deciding)}, medians; and how
    far the processor seconds of one value's runs lie apart, of the values' median.

    Each value has its turn in each round: what a machine shared with others does for some seconds
    falls on all of them.
    """
    runs = {value: [] for value in sweep.values}
    for _ in range(bench.runs):
        for value in sweep.values:
            files, _ = bench.generate([*sweep.base, sweep.option, str(value)])
            runs[value].append(
                sweeps.run_once(bench.command(files, "--no-cache", "--jobs", "2"), bench.report))
    times = {value: ({run.verdict for run in own},
                     statistics.median(run.processor_s for run in own),
                     statistics.median(run.report["time_s"]["decide"] +
                                       run.report["time_s"]["evaluate"] for run in own))
             for value, own in runs.items()}
    apart = statistics.median(max(run.processor_s for run in own) -
                              min(run.processor_s for run in own) for own in runs.values())
    return times, apart


def times_grow_as_promised(acceptance, line):
    """Flat in batch, hidden, sequence, heads; at most linear in layers (deciding 1.1x), dp, microbatches."""
    bench = sweeps.Bench(acceptance.build, 5)
    for sweep in sweeps.SWEEPS:
        if sweep.name not in ("batch", "hidden", "sequence", "heads", "layers", "dp", "microbatches"):
            continue
        times, apart = times_of(bench, sweep)
        seconds = {value: total for value, (_, total, _) in times.items()}
        line.require(all(verdicts == {"PROVED"} for verdicts, _, _ in times.values()),
                     f"{sweep.title}: all of {', '.join(map(str, times))} PROVED")
        shown = ", ".join(f"{value}: {total:.3f}" for value, total in seconds.items())
        low, high = min(times), max(times)
        if sweep.name in ("batch", "hidden", "sequence", "heads"):
            # Noise: a quarter, 30 ms of processor time, or what runs of one plan differ by.
            least = min(seconds.values())
            limit = max(1.25 * least, least + 0.03, least + apart)
            line.require(max(seconds.values()) <= limit,
                         f"{sweep.title}: flat ({shown} s; runs of one value {apart:.3f} s apart)")
            continue
        line.require(seconds[high] <= seconds[low] * high / low,
                     f"{sweep.title}: at most linear ({shown} s)")
        if sweep.name == "layers":
            first, last = times[low][2], times[high][2]
            line.require(last <= 1.1 * first, f"deciding with {high} layers is {last / first:.2f} "
                         f"times that with {low} ({last:.3f} s, {first:.3f} s)")
    subprocess.run(["rm", "-rf", bench.scratch], check=True)
    results = os.path.join(ROOT, "benchmarks", "results")
    drawn = [sweep.name for sweep in sweeps.SWEEPS
             if os.path.exists(os.path.join(results, sweep.name + ".svg"))]
    page = open(os.path.join(ROOT, "docs", "benchmarks.md"), encoding="utf-8").read()
    line.require(len(drawn) == len(sweeps.SWEEPS) and
                 len(re.findall(r"results/[\w-]+\.svg", page)) == len(drawn),
                 f"{len(drawn)} of {len(sweeps.SWEEPS)} plots in benchmarks/results and on the page")


LINES = [presets_are_written, models_match_jax, presets_are_proved, times_grow_as_promised]
