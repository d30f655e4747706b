"""Records and verifies configurations that the programs of this directory do not have, and tabulates the verdicts.

    hunt.py [--only PATTERN ...] [--limit SECONDS] [--keep DIRECTORY] [--double] [--rows FILE]

`--double` computes in float64: what is refuted should then differ from the single-process program in numbers, too. The
table has the largest such difference, relative to the size of the tensor, and what is UNKNOWN is counted by reason."""
import argparse
import collections
import fnmatch
import json
import os
import re
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "programs"), os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]

from agreement import differences  # noqa: E402
from configurations import CONFIGURATIONS  # noqa: E402
from planproof import VerificationTimeout, verify  # noqa: E402
from planproof.torch import launch  # noqa: E402

#: Longest time for a recording.
PATIENCE = 150


def in_double(mesh, build):
    """Builds with float64 as the type of all that names none."""
    import torch
    torch.set_default_dtype(torch.float64)
    return build(mesh)


def hunt(name, directory, limit, double=False):
    """One row: what became of a configuration."""
    from functools import partial
    mesh, build = CONFIGURATIONS[name]
    if name.startswith("hf_"):
        import hub  # noqa: F401  (once for all; other frameworks are changed when they are imported)
    row = {"name": name, "ranks": 1, "verdict": "-", "seconds": None, "difference": None, "reason": ""}
    for size in mesh.values():
        row["ranks"] *= size
    try:
        paths = launch(partial(in_double, build=build) if double else build, mesh, directory,
                       start_method="fork", timeout=PATIENCE)
    except Exception as error:  # any, of any framework
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        return {**row, "verdict": "not recorded", "reason": lines[-1].strip() if lines else type(error).__name__}
    row["difference"], where = difference(directory)
    start = time.monotonic()
    try:
        report = verify(paths, timeout=limit, cache=False)
    except VerificationTimeout:
        row.update(verdict="UNKNOWN", reason=f"over {limit:g} s")
    else:
        row.update(verdict=str(report.verdict))
        if not report:
            row["reason"] = reason(report)
            row["report"] = report.text
    row["seconds"] = round(time.monotonic() - start, 2)
    if row["verdict"] == "REFUTED":
        row["reason"] += f" [{where}]"
    return row


def difference(directory):
    """The largest difference of a result from the reference's, and whose."""
    try:
        worst, _ = differences(directory)
        key = max(worst, key=worst.get)
        return float(worst[key]), " ".join(key)
    except Exception as error:  # parts that do not fit, results without a counterpart
        return None, f"{type(error).__name__}: {error}"


def reason(report):
    """The first line, without its verdict, or the first stage that is not decided."""
    if report.verdict.value == "UNKNOWN" and report.violations:
        first = report.violations[0]
        return first.cause or first.message.split("\n")[0]
    return report.headline.split(": ", 1)[-1]


def kind_of(text):
    """A reason without names and numbers, to count by."""
    text = re.sub(r"\(.*?\)|'.*?'|\".*?\"", "", text)
    return re.sub(r"[\w.]*[\d_.#][\w.#]*", "*", text)[:80].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a verification (20)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep traces here")
    parser.add_argument("--double", action="store_true", help="compute in float64")
    parser.add_argument("--rows", metavar="FILE", help="append rows as JSON")
    options = parser.parse_args()
    names = [name for name in CONFIGURATIONS if any(fnmatch.fnmatch(name, each) for each in options.only)]
    rows = []
    print("| configuration | ranks | verdict | s | difference | reason |\n| --- | ---: | --- | ---: | ---: | --- |")
    for name in names:
        with tempfile.TemporaryDirectory(prefix="hunt-") as own:
            directory = os.path.join(options.keep, name) if options.keep else own
            row = hunt(name, directory, options.limit, options.double)
        rows.append(row)
        if options.rows:
            with open(options.rows, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        shown = "" if row["difference"] is None else f"{row['difference']:.1g}"
        print(f"| {name} | {row['ranks']} | {row['verdict']} | {row['seconds'] or ''} | {shown} | "
              f"{row['reason'][:150].replace('|', '/')} |", flush=True)
    counts = collections.Counter(row["verdict"] for row in rows)
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    reasons = collections.Counter(kind_of(row["reason"]) for row in rows if row["verdict"] == "UNKNOWN")
    for text, count in reasons.most_common():
        print(f"{count} x {text}")
    return 1 if counts["REFUTED"] + counts["MALFORMED"] else 0


if __name__ == "__main__":
    sys.exit(main())
