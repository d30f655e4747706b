"""What the anchor costs: every recorded program verified with its values and without, best of three.

    python tests/torch/record_all.py --out RECORDED
    python tests/torch/anchor_cost.py RECORDED [--rows 12]

Prints a row of Markdown for each of the programs at which the anchor takes longest, and sums over all."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PLANPROOF = os.environ.get("PLANPROOF_BINARY", "planproof")
RUNS = 3


def verified(traces):
    """Verdict, seconds and peak memory in MB of one run."""
    began = time.monotonic()
    process = subprocess.Popen([PLANPROOF, "verify", "-q", "--no-cache", *map(str, traces)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    first = process.stdout.readline().strip()
    process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return first, time.monotonic() - began, usage.ru_maxrss / 1024


def best(traces):
    runs = [verified(traces) for _ in range(RUNS)]
    return runs[0][0], min(run[1] for run in runs), max(run[2] for run in runs)


def traces_of(folder):
    ranks = sorted(folder.glob("rank*.trace"), key=lambda path: int(path.stem[4:]))
    return [folder / "reference.trace", *ranks]


def measure(folder):
    """One program: (name, verdict, seconds without and with values, MB without and with, kB of values)."""
    traces = traces_of(folder)
    values = sum(path.stat().st_size for path in folder.glob("*.values.npz")) / 1024
    with tempfile.TemporaryDirectory() as bare:
        alone = []
        for trace in traces:
            alone.append(pathlib.Path(bare) / trace.name)
            alone[-1].symlink_to(trace.resolve())
        _, seconds_without, memory_without = best(alone)
    verdict, seconds, memory = best(traces)
    return folder.name, verdict, seconds_without, seconds, memory_without, memory, values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=12)
    arguments = parser.parse_args()
    folders = [path for path in sorted(arguments.recorded.iterdir()) if (path / "reference.trace").exists()]
    if not folders:
        sys.exit(f"no recorded programs in {arguments.recorded}: run tests/torch/record_all.py")
    rows = [measure(folder) for folder in folders]
    over = [row for row in rows if row[3] - row[2] > max(1, row[2])]
    print("| program | without values | with | memory | with | values |\n| --- | --- | --- | --- | --- | --- |")
    for name, _, without, seconds, memory_without, memory, values in sorted(rows, key=lambda row: row[2] - row[3])[:arguments.rows]:
        print(f"| {name} | {without:.2f} s | {seconds:.2f} s | {memory_without:.0f} MB | {memory:.0f} MB | {values:.0f} kB |")
    print(f"| all {len(rows)} | {sum(row[2] for row in rows):.1f} s | {sum(row[3] for row in rows):.1f} s | | | "
          f"{sum(row[6] for row in rows) / 1024:.0f} MB |")
    proved = sum(row[1].startswith("PROVED") and "not anchored" not in row[1] for row in rows)
    print(f"\n{proved} of {len(rows)} PROVED and anchored; over the larger of 1 s and the verification: "
          f"{', '.join(row[0] for row in over) or 'none'}")


if __name__ == "__main__":
    main()
