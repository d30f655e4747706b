#!/usr/bin/env python3
"""Draws results/*.svg from results/sweeps.csv: seconds against one degree or dimension, beside the
published figures. Needs matplotlib (Debian: python3-matplotlib); without it, says so and draws nothing.
"""
import csv
import os
import sys

from sweeps import RESULTS, SWEEPS

WAYS = {"2 jobs": ("o-", "planproof, 2 jobs"), "1 job": ("s--", "planproof, 1 job"),
        "without classes": ("^:", "planproof, every claim by itself"),
        "warm cache": ("d-.", "planproof, warm cache"),
        "without lineage": ("P-", "planproof, lineage inferred")}


def draw(sweep, rows, pyplot):
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    for way, (style, label) in WAYS.items():
        points = [(int(row["value"]), float(row["wall_s"])) for row in rows
                  if row["way"] == way and row["verdict"] == "PROVED"]
        if points:
            axes.plot(*zip(*points), style, label=label, markersize=4)
    proving = [(int(row["value"]), float(row["proving_least_s"])) for row in rows
               if row["way"] == "1 job" and row["verdict"] == "PROVED" and row.get("proving_least_s")]
    if proving:
        axes.plot(*zip(*proving), "v-", label="evaluate + decide, 1 job", markersize=4)
    if sweep.theirs:
        axes.plot(*zip(*sweep.theirs.items()), "x-", color="gray", label="TrainVerify, 30 workers",
                  markersize=5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sweep.values, [str(value) for value in sweep.values])
    axes.minorticks_off()
    axes.set_xlabel(sweep.title)
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(os.path.join(RESULTS, sweep.name + ".svg"), metadata={"Date": None})
    pyplot.close(figure)


def main():
    path = os.path.join(RESULTS, "sweeps.csv")
    if not os.path.exists(path):
        sys.exit(f"{path} is not there: run benchmarks/sweeps.py")
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed (Debian: python3-matplotlib)")
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "planproof"  # the same file for the same numbers
    from matplotlib import pyplot
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for sweep in SWEEPS:
        own = [row for row in rows if row["sweep"] == sweep.name]
        if own:
            draw(sweep, own, pyplot)


if __name__ == "__main__":
    main()
