"""Random faults in the source of programs, judged by running them: none that computes something else may be PROVED.

    judge_source.py [--count N] [--seed N] [--only PATTERN ...] [--limit SECONDS] [--keep DIRECTORY]

The programs are those of programs/ that need no framework, and the right twins of faults/ and loading/. The fault is in a module that
the ranks, or one of them, import; the single-process program has none. What is PROVED is judged by what was recorded, and by running
the logs on other values (other_values.py). Faults that change nothing in any trace are not counted, and programs that do not run
are counted apart."""
import argparse
import fnmatch
import importlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
import types
import warnings
from collections import Counter
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [os.path.join(HERE, name) for name in ("programs", "faults", "loading")]
sys.path[:0] = [HERE, *FOLDERS, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]

import preloaded  # noqa: E402, F401
from agreement import differences  # noqa: E402
from other_values import Difference, Judge  # noqa: E402
from planproof import VerificationTimeout, verify  # noqa: E402
from planproof.errors import PlanproofError, RecordingError  # noqa: E402
from planproof.torch import launch, replay  # noqa: E402
from record_all import constant_of  # noqa: E402
from source_mutations import mutated  # noqa: E402

FRAMEWORKS = ("megatron", "deepspeed", "hf_", "titan", "zero", "hub")
#: Relative, of recorded results in float64.
DIFFERS = 1e-5


def programs(patterns):
    """Folder by name of the program."""
    found = {}
    for folder in FOLDERS:
        for file in sorted(os.listdir(folder)):
            name = file[:-3]
            if file.endswith(".py") and not name.startswith(FRAMEWORKS) and constant_of(name, "MESH", folder) \
                    and not constant_of(name, "RANKS", folder) and any(fnmatch.fnmatch(name, each) for each in patterns):
                found[name] = folder
    return found


def modules_of(name, folder):
    """Files of the module and of those that it imports from these directories."""
    found, waiting = {}, [name]
    while waiting:
        module = waiting.pop()
        path = next((os.path.join(each, f"{module}.py") for each in [folder, *FOLDERS]
                     if os.path.exists(os.path.join(each, f"{module}.py"))), None)
        if path is None or module in found:
            continue
        found[module] = path
        with open(path, encoding="utf-8") as file:
            waiting += re.findall(r"^(?:from|import) (\w+)", file.read(), re.M)
    return found


def built(module, mesh):
    return module.build(mesh, False) if "fault" in module.build.__code__.co_varnames else module.build(mesh)


def build(mesh, name, fault=None, ranks=None, lines=None):
    """Builds in a process of its own. `fault`: a module's name, file and changed tree, for these `ranks`. `lines`: where rank 0 writes
    which lines it ran."""
    import torch
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    if lines and mesh is not None and mesh.get_rank() == 0:
        return watched(name, mesh, lines)
    if fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # of what does not run, only the error is of interest
    if fault and mesh is not None and (ranks is None or mesh.get_rank() in ranks):
        module, path, tree = fault
        sys.modules[module] = loaded = types.ModuleType(module)
        loaded.__file__ = path
        exec(compile(tree, path, "exec"), loaded.__dict__)  # pylint: disable=exec-used
    return built(importlib.import_module(name), mesh)


def watched(name, mesh, path):
    """The program, with a note of the lines that it runs."""
    ran = set()

    def trace(frame, event, _):
        file = frame.f_code.co_filename
        if not file.startswith(tuple(FOLDERS)):
            return None
        if event == "line":
            ran.add((file, frame.f_lineno))
        return trace

    sys.settrace(trace)
    training = built(importlib.import_module(name), mesh)
    step = training.step

    def noted():
        sys.settrace(trace)
        outputs = step()
        sys.settrace(None)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(sorted(ran), file)
        return outputs

    training.step = noted
    return training


class Program:
    """A program without a fault: its modules, the lines that run, and what it computes."""

    def __init__(self, name, folder, directory):
        self.name, self.folder, self.mesh = name, folder, constant_of(name, "MESH", folder)
        self.relations = constant_of(name, "RELATIONS", folder)
        lines = os.path.join(directory, "lines.json")
        self.paths = launch(partial(build, name=name, lines=lines), self.mesh, directory, start_method="fork", overrides=self.relations)
        with open(lines, encoding="utf-8") as file:
            ran = json.load(file)
        self.modules = {module: (path, {line for where, line in ran if where == path})
                        for module, path in modules_of(name, folder).items()}
        self.modules = {module: found for module, found in self.modules.items() if found[1]}
        self.recorded = [replay.read(path) for path in self.paths]
        self.judge = Judge(self.recorded[0], self.recorded[1:])
        if not self.judge.ways:
            raise RecordingError("its logs do not run on other values")

    def ranks(self):
        return len(self.recorded) - 1

    def fault(self, rng):
        """A changed module, the ranks that have it, and what it is; None if there was nothing to change."""
        others = sorted(set(self.modules) - {self.name, "checkpoint"}) or sorted(self.modules)
        if "checkpoint" in self.modules and rng.random() < 0.05:
            others = ["checkpoint"]
        module = self.name if rng.random() < 0.6 and self.name in self.modules else rng.choice(others)
        path, lines = self.modules[module]
        with open(path, encoding="utf-8") as file:
            found = mutated(file.read(), lines, rng)
        if found is None:
            return None
        ranks = None if rng.random() < 0.75 else [rng.randrange(self.ranks())]
        where = "all ranks" if ranks is None else f"rank {ranks[0]}"
        return (module, path, found[0]), ranks, f"{os.path.basename(path)}, {found[1]}; {where}"

    def unchanged(self, recorded):
        """Whether nothing of it shows in traces or numbers."""
        return all(trace == before and all((values[key] == old[key]).all() for key in old if key.startswith(("result", "storage")))
                   for (trace, values), (before, old) in zip(recorded, self.recorded))

    def difference(self, directory, recorded):
        """What a PROVED program computes otherwise; None if nothing."""
        try:
            worst, _ = differences(directory)
        except (KeyError, ValueError) as error:
            return Difference(f"recorded results do not fit: {error}")
        key = max(worst, key=worst.get)
        if not worst[key] <= DIFFERS:
            return Difference(f"recorded {' '.join(key)} differs by {worst[key]:.2g}")
        return self.judge.difference([trace for trace, _ in recorded[1:]], [values for _, values in recorded[1:]])


def judged(program, fault, ranks, directory, options):
    """The verdict, its first line, and what differs if it is PROVED."""
    try:
        paths = launch(partial(build, name=program.name, fault=fault, ranks=ranks), program.mesh, directory, start_method="fork",
                       overrides=program.relations, timeout=options.patience)
        recorded = [replay.read(path) for path in paths]
        if program.unchanged(recorded):
            return "no effect", "", None
        report = verify(paths, timeout=options.limit, cache=False)
    except VerificationTimeout as error:
        return ("not recorded" if "recorded" in str(error) else "UNKNOWN"), "time", None
    except PlanproofError as error:
        return "error", str(error).splitlines()[0], None
    except Exception as error:  # whatever a wrong program does
        return "not recorded", str(error).strip().splitlines()[-1][:120], None
    verdict = str(report.verdict)
    return verdict, report.headline, program.difference(directory, recorded) if verdict == "PROVED" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a verification (20)")
    parser.add_argument("--patience", type=float, default=20, metavar="SECONDS", help="of a recording (20)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces of what is PROVED and differs")
    options = parser.parse_args()
    rng, counts, made, start = random.Random(options.seed), Counter(), 0, time.monotonic()
    chosen, known = programs(options.only), {}
    with tempfile.TemporaryDirectory() as own:
        while made < options.count and chosen:
            name = rng.choice(sorted(chosen))
            if name not in known:
                try:
                    known[name] = Program(name, chosen[name], os.path.join(own, name))
                except Exception as error:  # the others are judged all the same
                    print(f"{name} without a fault is not judged: {str(error).strip().splitlines()[-1]}", flush=True)
                    del chosen[name]
                    continue
            found = known[name].fault(rng)
            if found is None:
                continue
            fault, ranks, text = found
            with tempfile.TemporaryDirectory() as directory:
                verdict, line, differs = judged(known[name], fault, ranks, directory, options)
                if differs and options.keep:
                    shutil.copytree(directory, os.path.join(options.keep, str(made)), dirs_exist_ok=True)
            counts[verdict + (", differs" if differs else ", computes the same" if verdict == "PROVED" else "")] += 1
            made += verdict not in ("no effect", "not recorded")
            if differs or verdict == "error":
                print(f"{verdict}, {differs or line}: fault {made - 1} of {name}: {text}", flush=True)
            elif os.environ.get("VERBOSE"):
                print(f"{verdict}: {name}: {text}: {line[:150]}", flush=True)
    wrong = counts["PROVED, differs"]
    print(f"{made} faults in {len(known)} programs, {wrong} PROVED that differ in numbers; "
          + ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) + f"; {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
