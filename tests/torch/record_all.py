"""Records the programs of this directory.

    record_all.py --out DIRECTORY [--only NAME ...] [--replay]

Each program's traces go to DIRECTORY/NAME: reference.trace, rank0.trace, ..., with the values that a replay
compares with beside them."""
import argparse
import ast
import importlib
import os
import sys
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "programs"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))

from planproof.torch import launch  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402


def programs():
    """Names of all programs."""
    files = sorted(os.listdir(os.path.join(HERE, "programs")))
    names = [name[:-3] for name in files if name.endswith(".py")]
    return [name for name in names if mesh_of(name)]


def mesh_of(name, folder="programs"):
    """The program's MESH. None of a module that programs share."""
    return constant_of(name, "MESH", folder)


def ranks_of(name):
    """The program's RANKS, the ranks that are recorded. None if it has none: all are."""
    return constant_of(name, "RANKS")


def constant_of(name, constant, folder="programs"):
    """A constant of the program, read and not executed: some programs change torch when they are imported. None if it
    is not there."""
    with open(os.path.join(HERE, folder, f"{name}.py"), encoding="utf-8") as file:
        for line in file:
            if line.startswith(f"{constant} = "):
                return ast.literal_eval(line[len(f"{constant} = "):])
    return None


def build(name, mesh):
    """Builds a program in a process of its own."""
    return importlib.import_module(name).build(mesh)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", nargs="+", choices=programs(), default=programs(),
                        metavar="NAME")
    parser.add_argument("--replay", action="store_true", help="compare a replay, too")
    parser.add_argument("--held-sketches", action="store_true",
                        help="what ranks hold beyond 256 bytes as sketches, so that files are small")
    parser.add_argument("--verbose", action="store_true", help="errors in full")
    options = parser.parse_args()
    if options.held_sketches:
        importlib.import_module("planproof.torch.recording").LARGEST_IN_FULL = 256
    failed = []
    for name in options.only:
        start = time.monotonic()
        directory = os.path.join(options.out, name)
        try:
            paths = launch(partial(build, name), mesh_of(name), directory, start_method="fork",
                           ranks=ranks_of(name))
            counts = [len(load(path)["operators"]) for path in paths]
            said = f"operators {counts}, {sum(map(os.path.getsize, paths)) // len(paths)} bytes"
            if options.replay and ranks_of(name) is None:
                from planproof.torch.replay import replay
                said += f"; {replay(directory).summary()}"
        except Exception as error:  # the others are recorded all the same
            failed.append(name)
            said = "FAILED: " + (str(error) if options.verbose else str(error).strip().splitlines()[-1])
        print(f"{name}: {said}; {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
