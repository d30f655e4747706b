#!/usr/bin/env python3
"""Writes docs/benchmarks.md from benchmarks/results/*.csv, beside the published figures."""
import csv
import json
import os

from sweeps import LIMIT_S, RESULTS, ROOT, SWEEPS

# TrainVerify (SOSP '25), table of plans: GPUs, seconds in all; 32 cores, 30 workers (D3: 10).
PUBLISHED_RUNS = {"L1": ("Llama 3 8B", 512, 685), "L2": ("Llama 3 70B", 512, 8532),
                  "L3": ("Llama 3 405B", 8192, 28786), "D1": ("DeepSeek-V3 16B", 128, 1351),
                  "D2": ("DeepSeek-V3 236B", 512, 8484), "D3": ("DeepSeek-V3 671B", 2048, 32371)}


def rows_of(name):
    path = os.path.join(RESULTS, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def seconds(row):
    if row is None:
        return "–"
    if row["verdict"] == "out of time":
        return f"over {LIMIT_S} s"
    wall = float(row["wall_s"])
    text = "%.2f s" % wall if wall < 10 else "%.0f s" % wall
    return text if row["verdict"] == "PROVED" else f"{text} ({row['verdict']})"


def proving_seconds(row):
    """Evaluating and deciding: the least of the runs, where the file has it."""
    return float(row.get("proving_least_s") or float(row["evaluate_s"]) + float(row["decide_s"]))


def by_way(rows, key):
    """{key: {way: row}} in the order of the rows."""
    found = {}
    for row in rows:
        found.setdefault(row[key], {})[row["way"]] = row
    return found


def published_plans():
    rows = rows_of("whole_commands.csv")
    if not rows:
        return []
    budgets = json.load(open(os.path.join(ROOT, "benchmarks", "budgets.json"), encoding="utf-8"))
    plans = {plan["name"]: plan for plan in budgets["plans"]}
    cells = []
    for row in rows:
        plan = plans.get(row["plan"], {})
        budget = [form % plan[key] for key, form in (("seconds", "%g s"), ("mebibytes", "%g MiB"))
                  if key in plan]
        theirs = plan.get("trainverify")
        cells.append([row["plan"], row["verdict"], "%.3f s" % float(row["median_s"]),
                      "%.0f MiB" % float(row["peak_mib"]), ", ".join(budget) or "–",
                      "%g s, %g GB" % tuple(theirs) if theirs else "–",
                      "%.0f" % (theirs[0] / float(row["median_s"])) if theirs else "–"])
    return [
        "## Published plans and examples", "",
        "Whole commands `planproof verify -q --no-cache --jobs 2` with a warm page cache: median of 5 runs;"
        " peak memory is the sum over",
        "the command's processes. The budgets are those of the acceptance list (`benchmarks/budgets.json`)."
        " TrainVerify's figures were",
        "measured on such a machine with 2 workers and Z3 4.15.1; its memory is that of the largest process"
        " alone. It runs neither the",
        "MLP nor the GPT plans.", "",
        *table(["plan", "verdict", "time", "memory", "budget", "TrainVerify", "times faster"], cells)]


def big_plans():
    runs = by_way(rows_of("presets.csv"), "preset")
    if not runs:
        return []
    first, steps = [], []
    for name, ways in runs.items():
        row = ways["2 jobs"]
        model, gpus, theirs = PUBLISHED_RUNS[name]
        first.append([f"{name} {model}", f"{gpus:,}", row["generate_s"] + " s", row["files_mb"] + " MB",
                      row["verdict"], seconds(row), row["peak_mib"] + " MiB", seconds(ways["1 job"]),
                      seconds(ways.get("without classes")), seconds(ways.get("warm cache")),
                      seconds(ways.get("without lineage")), f"{theirs:,} s", "{:,.0f}".format(theirs / float(row["wall_s"]))])
        steps.append([name, *("%.3f" % float(row[step + "_s"]) for step in
                              ("read", "check", "cut", "reduce", "evaluate", "decide")),
                      "%.3f" % float(row["processor_s"]), f"{int(row['claims']):,}", row["classes"],
                      f"{int(row['operators']):,}", f"{int(row['covered']):,}"])
    return [
        "## The six published runs", "",
        "Plans of `planproof generate --preset NAME`: all layers, full dimensions, whole iteration. Medians of"
        " 3 whole commands; memory is",
        "the sum over the processes, with 2 jobs. TrainVerify ran on 32 cores with 30 workers (10 for D3) and"
        " up to a terabyte.", "",
        *table(["run", "GPUs", "generate", "files", "verdict", "2 jobs", "memory", "1 job",
                "without classes", "warm cache", "without lineage", "TrainVerify", "times faster"],
               first),
        "Seconds by step (`evaluate` and `decide` are summed over the workers), processor seconds of the whole"
        " command, and what was decided:", "",
        *table(["run", "read", "check", "cut", "reduce", "evaluate", "decide", "processor", "claims",
                "classes", "operator instances", "covered"], steps)]


PROGRAMS = {"primitive": "transformer blocks in primitive operators, forward and backward, dp 2, tp 4, no lineage",
            "megatron_four_layers": "GPT of Megatron-core, recorded, tp 2",
            "megatron_pp2_four_layers": "the same, pipeline of 2 stages",
            "megatron_pp2_interleaved": "the same, 2 stages on each of 2 ranks, interleaved", "megatron_pp4": "the same, pipeline of 4 stages",
            "hf_llama_fsdp2_reshard_True": "Llama of transformers under FSDP2, recorded",
            "plain_tp2_six_layers": "transformer of plain torch, tensor parallel, recorded"}


def by_layers():
    rows = rows_of("depth.csv")
    if not rows:
        return []
    return ["## By layers", "",
            "Plans of many layers alike (`tests/torch/depth.py`): processor seconds of `verify --no-cache` with all comparisons of",
            "the anchor, memory of its largest process, and wall-clock seconds of recording model and ranks.", "",
            *table(["plan", "ranks", "layers", "verdict", "seconds", "memory", "recorded in"],
                   [[PROGRAMS.get(row["program"], row["program"]), row["ranks"], row["layers"], row["verdict"], row["seconds"],
                     f"{row['memory_mb']} MB" if row["memory_mb"] else "–", f"{row['recorded_s']} s" if row["program"] != "primitive" else "–"] for row in rows]),
            "![layers of programs](../benchmarks/results/depth.svg)", ""]


def sweeps():
    rows = rows_of("sweeps.csv")
    if not rows:
        return []
    lines = [
        "## By degree and dimension", "",
        "One degree or dimension at a time, all else fixed: TrainVerify's figure 7 (Llama 3 8B, 32 layers; theirs"
        " on 30 workers) and",
        "GraphGuard's figure 5 (one layer of GPT by degree, and by layers; theirs take 6 to 167 s per model at"
        " degree 2 on 16 cores, forward",
        "only, and show no degree above 8). `processor` is processor time of the command and its workers with"
        " 2 jobs.", "",
        "`evaluate + decide` is the least of the runs with 1 job. What grows with layers is reading, cutting, and"
        " starting and stopping the",
        "worker processes, whose memory is a copy of the first one's (`workers`, with 2 jobs); the number of"
        " classes and what they take does not.", ""]
    for sweep in SWEEPS:
        points = by_way([row for row in rows if row["sweep"] == sweep.name], "value")
        if not points:
            continue
        cells = []
        for value, ways in points.items():
            row = ways["2 jobs"]
            theirs = sweep.theirs.get(int(value))
            cells.append([value, seconds(row), "%.3f s" % float(row["processor_s"]),
                          "%.4f s" % proving_seconds(ways.get("1 job", row)),
                          "%.3f s" % float(row.get("workers_s") or 0),
                          seconds(ways.get("1 job")), seconds(ways.get("without classes")),
                          seconds(ways.get("warm cache")), seconds(ways.get("without lineage")),
                          f"{int(row['claims'] or 0):,}",
                          row["classes"], f"{int(row['operators'] or 0):,}",
                          f"{theirs:g} s" if theirs else "–"])
        lines += [f"### {sweep.title[0].upper() + sweep.title[1:]}", "",
                  "`" + " ".join([*sweep.base, sweep.option]) + " N`", "",
                  *table(["N", "2 jobs", "processor", "evaluate + decide", "workers", "1 job",
                          "without classes", "warm cache", "without lineage", "claims", "classes",
                          "operator instances", "TrainVerify"], cells)]
        if os.path.exists(os.path.join(RESULTS, sweep.name + ".svg")):
            lines += [f"![{sweep.title}](../benchmarks/results/{sweep.name}.svg)", ""]
    return lines


def load():
    """What else the machine did while the sweeps ran."""
    loads = [float(row["load"]) for row in rows_of("presets.csv") + rows_of("sweeps.csv")
             if row.get("load")]
    if not loads or max(loads) <= 3:
        return []
    return [f"The six runs and the sweeps were measured beside other work (load {min(loads):g} to"
            f" {max(loads):g}): wall times are upper", "bounds, processor times less so.", ""]


def main():
    lines = ["# Benchmarks", "",
             f"Written by `make bench` (`benchmarks/write_page.py`) on {os.cpu_count()} cores. A dash is what"
             " was not measured.", "",
             *load(), *published_plans(), *big_plans(), *by_layers(), *sweeps()]
    with open(os.path.join(ROOT, "docs", "benchmarks.md"), "w", encoding="utf-8") as page:
        page.write("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
