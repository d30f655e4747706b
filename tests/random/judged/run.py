#!/usr/bin/env python3
"""Random plans of one kind against a judge that shares no code with planproof.

    run.py --planproof build/cli/planproof --kind index_functions --first 1 --count 1000 --jobs 2

Every seed makes one plan, right or wrong; `--kind all` makes one of each kind. The judge (judge.py) evaluates model and
plan at random inputs and says which it is; planproof must not PROVE a plan that differs, nor REFUTE one that does not.
Offending files stay in --keep. Exit code 1 if there are any.
"""
import argparse
import csv
import importlib
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import judge
import mutations
import verdicts

KINDS = ("index_functions", "index_gradients", "gradients", "collectives", "memory", "domains")
VERDICTS = ("PROVED", "REFUTED", "MALFORMED", "UNKNOWN")


@dataclass
class Row:
    seed: int
    truth: str
    verdict: str
    finding: str = ""  # what is wrong with the verdict
    why: str = ""
    line: str = ""
    path: str = ""


def make(kind, seed):
    """The plan of a seed, as the content of a file."""
    own = random.Random(f"{kind}:{seed}")
    right = importlib.import_module("generate_" + kind).plan(own)
    if own.random() < .4:
        return right
    for _ in range(own.choice([1, 4, 4, 4])):  # most faults make no plan at all: those that do are wanted more
        content = mutations.mutated(right, own)
        word = judge.truth(exactly(content), random.Random(seed), 2).word
        if word in (judge.DIFFERENT, judge.UNDEFINED_PLAN):
            break
    return content


def exactly(content):
    """The content as it is read from a file: every number exact."""
    return json.loads(json.dumps(content), parse_float=Fraction)


def write(content, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=Fraction)


def judged(options, seed):
    path = os.path.join(options.directory, f"{options.kind}-{seed}.json")
    try:
        write(make(options.kind, seed), path)
        content = read(path)
        truth = judge.truth(content, random.Random(seed), options.inputs)
        verdict = verdicts.verify(options.planproof, path, options.timeout)
        finding = finding_of(content, truth, verdict, seed)
    except Exception:  # pylint: disable=broad-except
        return Row(seed, "failed", "", "the judge failed", traceback.format_exc(), "", path)
    row = Row(seed, truth.word, verdict.word, finding, truth.why, verdict.line, path)
    if not finding:
        os.remove(path)
    return row


def finding_of(content, truth, verdict, seed):
    if verdict.word in ("crash", "timeout"):
        return verdict.word
    if verdict.word == "PROVED" and truth.word in (judge.DIFFERENT, judge.MALFORMED, judge.UNDEFINED_PLAN):
        if truth.word == judge.UNDEFINED_PLAN and verdict.report.get("restrictions"):
            return "PROVED with restrictions"
        return "false PROVED"
    if verdict.word == "REFUTED" and truth.word in (judge.EQUAL, judge.MALFORMED):
        if truth.word == judge.EQUAL and (witness_differs(content, verdict, seed) or judge.truth(
                content, random.Random(-seed), 300).word == judge.DIFFERENT):
            truth.word = judge.DIFFERENT  # a difference that the judge's own inputs did not show
            return ""
        return "false REFUTED" if truth.word == judge.EQUAL else "REFUTED in place of MALFORMED"
    runs = truth.word in (judge.EQUAL, judge.DIFFERENT, judge.UNDEFINED_PLAN)
    if verdict.word == "MALFORMED" and runs and not truth.doubts:
        return "false MALFORMED"
    return ""


def witness_differs(content, verdict, seed):
    """Whether the judge finds the difference at the inputs that the report prints."""
    own = judge.Judge(content)
    leaves = verdicts.witness_inputs(verdict.report, own.model)
    result = leaves and own.at(leaves, random.Random(seed))
    return bool(result) and result[0] in (judge.DIFFERENT, judge.UNDEFINED_PLAN)


def reason(line):
    """What an UNKNOWN says, without names and numbers."""
    return re.sub(r"[\w./-]*\d[\w./-]*", "#", line)[:110]


def print_table(rows):
    truths = sorted({row.truth for row in rows})
    print(f"{len(rows)} plans    " + "".join(f"{v:>11}" for v in VERDICTS))
    for truth in truths:
        counts = Counter(row.verdict for row in rows if row.truth == truth)
        print(f"{truth:<13}" + "".join(f"{counts[v]:>11}" for v in VERDICTS))
    unknown = Counter(reason(row.line) for row in rows if row.verdict == "UNKNOWN")
    for line, count in unknown.most_common(8):
        print(f"{count:6} {line}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planproof", required=True)
    parser.add_argument("--kind", choices=KINDS + ("all",), required=True)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=100, help="plans of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--inputs", type=int, default=12, help="inputs tried per plan")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one plan")
    parser.add_argument("--csv", help="one line per plan")
    parser.add_argument("--keep", help="where offending files stay (default: a new temporary folder)")
    parser.add_argument("--print", action="store_true", help="print the plan of the first seed, and do nothing else")
    return parser.parse_args()


def run_kind(options, kind):
    """Judges all plans of a kind; True if there is nothing wrong."""
    options.kind = kind
    with multiprocessing.Pool(options.jobs) as pool:
        rows = list(pool.imap(Call(options), range(options.first, options.first + options.count), chunksize=4))
    if options.csv:
        with open(options.csv, "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([kind, r.seed, r.truth, r.verdict, r.finding, r.why, r.line] for r in rows)
    print(f"{kind}, seeds {options.first} to {options.first + options.count - 1}")
    print_table(rows)
    for row in rows:
        if row.finding:
            print(f"{row.finding}: seed {row.seed}: {row.truth} ({row.why[-300:]}); {row.line}\n  {row.path}")
    wrong = [row for row in rows if row.finding and not row.finding.endswith("MALFORMED")]
    if wrong:
        print(f"{len(wrong)} findings; one plan again: run.py --planproof {options.planproof} --kind {kind} "
              f"--first {wrong[0].seed} --count 1")
    return not wrong


def main():
    options = parse_options()
    if options.print:
        json.dump(make(options.kind, options.first), sys.stdout, indent=1)
        return
    options.directory = options.keep or tempfile.mkdtemp(prefix="judged-")
    os.makedirs(options.directory, exist_ok=True)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(["kind", "seed", "truth", "verdict", "finding", "why", "line"])
    kinds = KINDS if options.kind == "all" else (options.kind,)
    good = [run_kind(options, kind) for kind in kinds]
    if not os.listdir(options.directory):
        os.rmdir(options.directory)
    sys.exit(0 if all(good) else 1)


class Call:
    """`judged` with options, as worker processes can be sent it."""

    def __init__(self, options):
        self.options = options

    def __call__(self, seed):
        return judged(self.options, seed)


if __name__ == "__main__":
    main()
