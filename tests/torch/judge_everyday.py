"""Records the hundred programs of everyday/, verifies them, and compares verdicts with numbers.

    judge_everyday.py [--only PATTERN ...] [--jobs N] [--limit SECONDS] [--record-limit SECONDS] [--keep DIRECTORY] [--binary FILE]
                      [--numbers] [--all] [--list]

Each program is recorded in a process of its own, as ranks over gloo and as one process, and the largest difference of a result
of the ranks from the reference's, relative to its size, is taken. The verdict is right if it is PROVED and numbers agree, or
REFUTED and they differ. `--numbers` runs three iterations under torch alone, with nothing recorded, and says of each program
whether its results agree, or differ, as they are meant to."""
import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "programs"), os.path.join(HERE, "faults"),
                os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]

#: Relative differences of right and of wrong results, in float64 and in what frameworks compute in.
AGREE, DIFFER = {True: 1e-6, False: 2e-3}, {True: 1e-4, False: 3e-3}
#: The same where a program computes in bfloat16: Adam takes the sign of what is rounded.
ROUGH = 0.5
#: Gradients below are zero but for rounding, such as those of a bias before a normalization.
SMALLEST = {True: 1e-9, False: 1e-4}


def programs():
    """All programs by name."""
    import importlib

    from everyday.catalog import MODULES, PROGRAMS
    for module in MODULES:
        importlib.import_module(f"everyday.{module}")
    return PROGRAMS


def precise(name):
    """Whether all of a program computes in float64: transformers have softmax in float32 wherever they run."""
    return programs()[name].double and not name.startswith("hf_")


def built(mesh, name):
    """Builds in a rank's process."""
    import torch
    program = programs()[name]
    if program.double:
        torch.set_default_dtype(torch.float64)
    return program.build(mesh)


def record(name, directory):
    """Records one program, and gives the largest difference and whose it is."""
    from agreement import differences
    from planproof.torch import launch
    program = programs()[name]
    launch(partial(built, name=name), program.mesh, directory, start_method="fork", **program.options)
    worst, _ = differences(directory, SMALLEST[precise(name)])
    key = max(worst, key=worst.get)
    return float(worst[key]), " ".join(key)


def compare(name, directory):
    """Runs one program under torch alone, and gives the largest difference."""
    from everyday.plainly import largest_difference
    return largest_difference(partial(built, name=name), programs()[name].mesh, directory), "results"


def forked(function, name, directory, limit):
    """What a function gives that is called in a process of its own: its result and None, or None and what went wrong. Nothing is
    imported again there."""
    os.makedirs(directory, exist_ok=True)
    said = os.path.join(directory, "said")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            with open(said, "w", encoding="utf-8") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
                found = function(name, directory)
            with open(os.path.join(directory, "result.json"), "w", encoding="utf-8") as file:
                json.dump(found, file)
            status = 0
        except BaseException as error:  # the parent tells of it
            with open(said, "a", encoding="utf-8") as file:
                print(f"\n{str(error).strip() or type(error).__name__}", file=file)
        finally:
            os._exit(status)
    end = time.monotonic() + limit
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, f"not within {limit:g} s"
        time.sleep(0.05)
    if status:
        with open(said, encoding="utf-8", errors="replace") as file:
            return None, last_line(file.read())
    with open(os.path.join(directory, "result.json"), encoding="utf-8") as file:
        return json.load(file), None


def run(command, limit):
    """Exit status (None if it was ended), output and errors."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, "", f"not within {limit:g} s"


def last_line(text):
    lines = [each for each in text.strip().splitlines() if each.strip()]
    return lines[-1].strip() if lines else "no message"


def verified(binary, directory, limit):
    """Verdict and first line."""
    paths = [os.path.join(directory, "reference.trace")]
    paths += [os.path.join(directory, f"rank{rank}.trace") for rank in range(64) if os.path.exists(os.path.join(directory, f"rank{rank}.trace"))]
    status, out, errors = run([binary, "verify", "--no-cache", *paths], limit)
    if status is None:
        return "UNKNOWN", errors
    line = (out.strip().splitlines() or [last_line(errors)])[0]
    verdict, _, rest = line.partition(":")
    return (verdict, rest.strip()) if verdict in ("PROVED", "REFUTED", "MALFORMED", "UNKNOWN") else (f"exit {status}", line)


def judged(name, program, options, directory):
    """One row of the table."""
    begin = time.monotonic()
    found, error = forked(compare if options.numbers else record, name, directory, options.record_limit)
    recorded = time.monotonic() - begin
    expected = "PROVED" if program.right else "REFUTED"
    row = {"name": name, "expected": expected, "record": recorded, "seconds": 0.0, "difference": None}
    if error is not None:
        return {**row, "verdict": "not recorded", "line": error, "class": "recording error"}
    row["difference"] = found[0]
    agree = found[0] <= (ROUGH if "bfloat16" in name else AGREE[precise(name)])
    differ = not found[0] <= DIFFER[precise(name)]
    meant = agree if program.right else differ
    if options.numbers:
        return {**row, "verdict": "", "line": "", "class": "as meant" if meant else "not as meant"}
    begin = time.monotonic()
    verdict, line = verified(options.binary, directory, options.limit)
    kind = "judged" if (verdict == "PROVED" and agree) or (verdict == "REFUTED" and differ) else \
        "wrong verdict" if verdict in ("PROVED", "REFUTED") or verdict == "MALFORMED" and agree else "undecided"
    return {**row, "seconds": time.monotonic() - begin, "verdict": verdict, "line": line, "class": kind}


def rows_of(chosen, options, directory):
    """The rows, in the order in which programs end. Processes are forked from the main thread, one for each program."""
    waiting, running = list(chosen.items()), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name, program = waiting.pop(0)
            child = os.fork()
            if child == 0:
                row = judged(name, program, options, os.path.join(directory, name))
                with open(os.path.join(directory, f"{name}.row"), "w", encoding="utf-8") as file:
                    json.dump(row, file)
                os._exit(0)
            running[child] = name
        child, _ = os.wait()
        with open(os.path.join(directory, f"{running.pop(child)}.row"), encoding="utf-8") as file:
            yield json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="of a verification (60)")
    parser.add_argument("--record-limit", type=float, default=180, metavar="SECONDS", help="of a recording (180)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces here")
    parser.add_argument("--binary", default=os.environ.get("PLANPROOF_BINARY", "planproof"))
    parser.add_argument("--numbers", action="store_true", help="do not verify: only compare numbers")
    parser.add_argument("--all", action="store_true", help="the whole catalog, not the hundred only")
    parser.add_argument("--list", action="store_true", help="only name the programs")
    options = parser.parse_args()
    from everyday.hundred import HUNDRED
    tried = programs() if options.all else {name: programs()[name] for name in HUNDRED}
    chosen = {name: each for name, each in tried.items() if any(fnmatch.fnmatch(name, pattern) for pattern in options.only)}
    if options.list:
        for name, each in chosen.items():
            print(name, "x".join(f"{axis}{size}" for axis, size in each.mesh.items()), "PROVED" if each.right else "REFUTED")
        print(f"{len(chosen)} programs, {sum(not each.right for each in chosen.values())} with a fault")
        return 0
    import planproof.torch  # noqa: F401  once, and not in each process
    import torch._dynamo  # noqa: F401  optimizers import it
    if any(name.startswith("hf_") for name in chosen):
        import transformers.models.auto.modeling_auto  # noqa: F401
    with tempfile.TemporaryDirectory() as own:
        directory = options.keep or own
        print("| program | expected | difference | verdict | s | recorded in s | first line |\n| --- | --- | ---: | --- | ---: | ---: | --- |",
              flush=True)
        rows = []
        for row in rows_of(chosen, options, directory):
            rows.append(row)
            difference = "" if row["difference"] is None else f"{row['difference']:.1g}"
            line = row["line"].replace("|", "/")[:300]
            print(f"| {row['name']} | {row['expected']} | {difference} | {row['verdict'] or row['class']} | {row['seconds']:.1f} | {row['record']:.1f} "
                  f"| {line} |", flush=True)
    counts = {kind: sum(row["class"] == kind for row in rows) for kind in
              ("as meant", "not as meant", "judged", "wrong verdict", "undecided", "recording error")}
    print("\n" + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) + f", of {len(rows)}")
    return 1 if counts["not as meant"] or counts["wrong verdict"] else 0


if __name__ == "__main__":
    sys.exit(main())
