"""Records programs of many layers, verifies them, and tabulates what layers cost; draws it where matplotlib is there.

    depth.py [--only PATTERN ...] [--layers N ...] [--ranks N ...] [--limit SECONDS] [--binary PROGRAM] [--csv FILE] [--plot FILE.svg]

A row is a recorded program, or a plan in primitive operators, with so many layers. Seconds are processor time, memory is that of the
largest process. `recorded` is the wall-clock time of recording model and ranks."""
import argparse
import csv
import fnmatch
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "programs"), os.path.join(os.path.dirname(HERE), "python"), os.path.join(ROOT, "python")]

COLUMNS = ("program", "ranks", "layers", "verdict", "seconds", "memory_mb", "recorded_s")
LAYERS = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128)
PATIENCE = 600


def with_layers(name, layers, mesh=None, **changed):
    """A configuration of configurations.py with so many layers."""
    from configurations import CONFIGURATIONS
    own, build = CONFIGURATIONS[name]
    options = dict(build.keywords)
    if name.startswith("megatron"):
        options["num_layers"] = layers
    elif name.startswith("plain"):
        options["sizes"] = {**options.get("sizes", {}), "layers": layers}
    else:
        options["sizes"] = {**options.get("sizes", {}), "num_hidden_layers": layers}
    return mesh or own, partial(build.func, *build.args, **{**options, **changed})


def recorded(name, ranks, layers, directory):
    """Paths of traces, after recording."""
    from planproof.torch import launch
    if name.startswith("hf_"):
        import hub  # noqa: F401  (once for all; other frameworks are changed when they are imported)
    mesh, build = with_layers(name, layers)
    if ranks is not None:
        (axis,) = mesh
        mesh = {axis: ranks}
    return launch(build, mesh, directory, start_method="fork", timeout=PATIENCE)


def primitive(layers, directory):
    """A plan in primitive operators, as XLA writes them."""
    import primitive_blocks
    path = os.path.join(directory, "plan.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(primitive_blocks.plan(layers), file)
    return [path]


def measured(binary, paths, limit):
    """(verdict, processor seconds, MB of the largest process)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [binary, "verify", "-q", "--no-cache", "--timeout", str(limit), "--json", report.name, *map(str, paths)]
        # Through a shell, whose memory is small: a process that is exec'ed counts the memory of the one that forked it.
        done = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        text = report.read()
        memory = json.loads(text)["peak_rss_mb"]["largest"] if text else 0
    words = (done.stdout + done.stderr).split(":", 1)
    return words[0].strip() or f"exit code {done.returncode}", seconds, memory


def judge(name, ranks, layers, options):
    row = dict(program=name, ranks=ranks or "", layers=layers, verdict="not recorded", seconds="", memory_mb="", recorded_s="")
    with tempfile.TemporaryDirectory(prefix="depth-") as directory:
        start = time.monotonic()
        try:
            paths = primitive(layers, directory) if name == "primitive" else recorded(name, ranks, layers, directory)
        except Exception as error:  # any, of any framework
            print(f"{name} {layers}: {str(error).strip().splitlines()[-1][:150]}", file=sys.stderr)
            return row
        row["recorded_s"] = round(time.monotonic() - start, 1)
        row["ranks"] = len(glob.glob(os.path.join(directory, "rank*.trace"))) or 8
        verdict, seconds, memory = measured(options.binary, paths, options.limit)
        row.update(verdict=verdict, seconds=round(seconds, 2), memory_mb=round(memory))
    return row


def draw(rows, path):
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not there (apt-get install python3-matplotlib)", file=sys.stderr)
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "planproof"
    from matplotlib import pyplot
    figure, pair = pyplot.subplots(1, 2, figsize=(10, 3.6))
    for axes, column, label in zip(pair, ("seconds", "memory_mb"), ("processor seconds", "MB, largest process")):
        for program, ranks in sorted({(row["program"], row["ranks"]) for row in rows}, key=str):
            points = sorted((int(row["layers"]), float(row[column])) for row in rows
                            if (row["program"], row["ranks"]) == (program, ranks) and row["verdict"] == "PROVED")
            if points:
                axes.plot(*zip(*points), "o-", markersize=3, label=f"{program}, {ranks} ranks")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("layers")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    pair[0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--layers", nargs="+", type=int, default=LAYERS, metavar="N")
    parser.add_argument("--ranks", nargs="+", type=int, default=[None], metavar="N", help="of programs with one axis (as they are)")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="of a verification (120)")
    parser.add_argument("--binary", default=os.environ.get("PLANPROOF_BINARY", "planproof"))
    parser.add_argument("--csv", metavar="FILE", help="write rows here")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw them here")
    options = parser.parse_args()
    programs = ("primitive", "megatron_four_layers", "megatron_pp2_four_layers", "megatron_pp2_interleaved", "megatron_pp4",
                "hf_llama_tp2_four_layers", "hf_llama_fsdp2_reshard_True", "plain_tp2_six_layers")
    rows = []
    print("| program | ranks | layers | verdict | s | MB | recorded in s |\n| --- | ---: | ---: | --- | ---: | ---: | ---: |", flush=True)
    for name in programs:
        if not any(fnmatch.fnmatch(name, each) for each in options.only):
            continue
        for ranks in options.ranks if name != "primitive" else [None]:
            for layers in options.layers:
                rows.append(judge(name, ranks, layers, options))
                print("| " + " | ".join(str(rows[-1][column]) for column in COLUMNS) + " |", flush=True)
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    if options.plot:
        draw(rows, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
