"""Records programs that load, seed or sample wrongly, and their right twins, and judges both in numbers and by verdict.

    judge_loading.py [--only PATTERN ...] [--limit SECONDS] [--keep DIRECTORY] [--single] [--folder DIRECTORY ...]

The programs are those of loading/. The ranks' graphs are right in all of them: the wrong twin's ranks hold something else than
what they are said to hold. What differs is found here by comparing what each rank holds after `build` with the reference's,
and the verdict has to say the same: MALFORMED with one of these tensors, one of its ranks and a place. A right twin is PROVED.
They compute in float64 unless `--single` is given. Traces stay in DIRECTORY/NAME and DIRECTORY/NAME.right."""
import argparse
import fnmatch
import importlib
import os
import re
import sys
import tempfile
import time
import warnings
from functools import partial

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "loading")
sys.path[:0] = [HERE, os.path.join(HERE, "programs"), os.path.join(HERE, "faults"), FOLDER,
                os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]

import preloaded  # noqa: E402, F401
from agreement import cut, differences  # noqa: E402
from planproof import VerificationTimeout, verify  # noqa: E402
from planproof.torch import launch  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402
from record_all import constant_of  # noqa: E402

#: Relative to the largest element: what conversion and rounding may differ by, and what a fault differs by at least.
RIGHT, WRONG = 1e-5, 1e-3


def programs(folder=FOLDER):
    """Names of the programs of a directory."""
    names = sorted(file[:-3] for file in os.listdir(folder) if file.endswith(".py"))
    return [name for name in names if constant_of(name, "MESH", folder)]


def held(training):
    """What a rank holds, by name."""
    from planproof.torch.relations import Input, Held, local, unwrapped
    model = unwrapped(training.model)
    values = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    states = {f"{name}.{word}": value for name, parameter in model.named_parameters()
              for word, value in training.optimizer.state.get(parameter, {}).items()}
    data = {name: each.held if isinstance(each, Input) else each for name, each in training.inputs.items()}
    data = {name: each.tensor if isinstance(each, Held) else each for name, each in data.items()}
    return {name: local(value.detach()).double().numpy().copy() for name, value in {**values, **states, **data}.items()}


def build(mesh, name, fault, double, directory):
    """Builds in a process of its own, and writes down what it holds."""
    import torch
    warnings.simplefilter("ignore")
    if double:
        torch.set_default_dtype(torch.float64)
    training = importlib.import_module(name).build(mesh, fault)
    rank = "reference" if mesh is None else f"rank{mesh.get_rank()}"
    numpy.savez(os.path.join(directory, f"{rank}.held.npz"), **held(training))
    return training


def held_wrongly(paths):
    """Which tensor each rank holds otherwise than it is said to: the ranks by name. `paths`: the reference's trace first."""
    reference, *ranks = [numpy.load(path[:-len(".trace")] + ".held.npz") for path in paths]
    found = {}
    for rank, (values, path) in enumerate(zip(ranks, paths[1:])):
        for entry in load(path)["inputs"]:
            name = entry["name"]
            if name not in reference:  # a state that does not exist before the first iteration
                continue
            expected = cut(reference[name], entry)
            scale = max(numpy.abs(expected).max(initial=0), 1e-12)
            if not numpy.abs(values.get(name, 0) - expected).max(initial=0) <= RIGHT * scale:
                found.setdefault(name, []).append(rank)
    return found


def named(text, wrong):
    """What a verdict says of tensors that ranks hold wrongly: each of tensor, rank and place that is missing."""
    for name, ranks in wrong.items():
        if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w]|\.\w)", text):
            continue
        numbers = {int(each) for found in re.findall(r"(?:rank|device)s? ((?:\d+(?:, | and | to )?)+)", text)
                   for each in re.findall(r"\d+", found)}
        return [*(["rank"] if not numbers & set(ranks) else []),
                *(["place"] if not re.search(r"\[[\d, :]*\]", text) else [])]
    return ["tensor"]


def judged(name, fault, directory, folder, options):
    """A row: what differs in numbers, the verdict, what it does not name, and whether it is as it should be."""
    os.makedirs(directory, exist_ok=True)
    paths = launch(partial(build, name=name, fault=fault, double=not options.single, directory=directory),
                   constant_of(name, "MESH", folder), directory, start_method="fork",
                   overrides=constant_of(name, "RELATIONS", folder))
    wrong, (worst, _) = held_wrongly(paths), differences(directory)
    most = float(max(worst.values()))
    start = time.monotonic()
    try:
        report = verify(paths, timeout=options.limit, cache=False)
        verdict, text = str(report.verdict), report.text
    except VerificationTimeout:
        verdict, text = "UNKNOWN", f"over {options.limit:g} s"
    missing = named(text.split("\n")[0], wrong) if fault else []
    if fault:
        sound, right = bool(wrong) and not most < WRONG, verdict == "MALFORMED" and not missing
    else:
        expected = constant_of(name, "ROUNDING", folder) or (1e-2 if options.single else RIGHT)
        sound, right = not wrong and most < expected, verdict == "PROVED"
    return {"wrong": wrong, "most": most, "verdict": verdict, "line": text.split("\n")[0], "missing": missing,
            "sound": sound, "right": right, "seconds": time.monotonic() - start}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a verification (20)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces here")
    parser.add_argument("--single", action="store_true", help="compute in float32")
    parser.add_argument("--folder", default=FOLDER, metavar="DIRECTORY", help="of the programs (loading)")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    sys.path.insert(0, folder)
    rows = []
    print("| program | held wrongly | difference | verdict | not named | s | first line |\n"
          "| --- | --- | ---: | --- | --- | ---: | --- |")
    for name in programs(folder):
        if not any(fnmatch.fnmatch(name, each) for each in options.only):
            continue
        for fault in (True, False):
            with tempfile.TemporaryDirectory() as own:
                shown = name if fault else f"{name}.right"
                try:
                    row = judged(name, fault, os.path.join(options.keep or own, shown), folder, options)
                except Exception as error:  # the others are judged all the same
                    lines = [each for each in str(error).strip().splitlines() if each.strip()]
                    row = {"wrong": {}, "most": float("nan"), "verdict": "not recorded", "missing": [], "sound": False,
                           "right": False, "seconds": 0.0, "line": lines[-1] if lines else type(error).__name__}
            rows.append((fault, row))
            wrong = "; ".join(f"{each}: {','.join(map(str, ranks))}" for each, ranks in list(row["wrong"].items())[:3])
            numbers, verdict = ("" if row[key] else " (!)" for key in ("sound", "right"))
            print(f"| {shown} | {wrong} | {row['most']:.1g}{numbers} | {row['verdict']}{verdict} | {', '.join(row['missing'])} | "
                  f"{row['seconds']:.2f} | {row['line'].replace('|', '/')} |", flush=True)
    faults, twins = ([row for fault, row in rows if fault == kind] for kind in (True, False))
    print(f"{sum(row['right'] for row in faults)} of {len(faults)} faults found with tensor, rank and place, "
          f"{sum(row['verdict'] == 'PROVED' for row in faults)} PROVED; {sum(row['right'] for row in twins)} of {len(twins)} right "
          f"twins PROVED; {sum(not row['sound'] for _, row in rows)} whose numbers are not as meant")
    return 0 if all(row["right"] and row["sound"] for _, row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
