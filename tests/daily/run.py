#!/usr/bin/env python3
"""Verifies the plans of examples/daily and their faults, and prints the table of docs/daily-plans.md.

    tests/daily/run.py --planproof build/cli/planproof [PLAN ...]

A right plan must be PROVED. A plan with a fault must be REFUTED or MALFORMED as causes.json says, and its first line must
have the words that name the cause. Where causes.json says `"named": false`, the line does not say what to change: then
the words are what it says today. `--page docs/daily-plans.md` writes the table into that page.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]
from faults import FAULTS  # noqa: E402
from plan_json import write  # noqa: E402

EXIT_CODES = {0: "PROVED", 1: "REFUTED", 2: "MALFORMED", 3: "UNKNOWN"}


def verify(program, path):
    """Verdict, seconds, first line."""
    start = time.time()
    done = subprocess.run([program, "verify", "--no-cache", path], capture_output=True, text=True, check=False)
    seconds = time.time() - start
    lines = (done.stdout or done.stderr).split("\n")
    return EXIT_CODES.get(done.returncode, f"exit code {done.returncode}"), seconds, lines[0].replace(path, "plan.json")


def after_verdict(line):
    return line.partition(": ")[2]


class Run:

    def __init__(self, program):
        self.program = program
        self.rows, self.problems = [], []
        with open(os.path.join(HERE, "causes.json"), encoding="utf-8") as text:
            self.causes = json.load(text)

    def right_plan(self, plan):
        path = os.path.join(ROOT, "examples", "daily", plan + ".json")
        verdict, seconds, line = verify(self.program, path)
        self.rows.append((plan, "", verdict, seconds, None, line))
        if verdict != "PROVED":
            self.problems.append(f"{plan}: {line}; it is right and must be PROVED")
        with open(path, encoding="utf-8") as text:
            return json.load(text)

    def fault(self, fault, right, folder):
        path = os.path.join(folder, f"{fault.plan}.{fault.name}.json")
        write(path, fault.apply(right))
        verdict, seconds, line = verify(self.program, path)
        expected = self.causes.get(fault.key())
        if expected is None:
            self.problems.append(f"{fault.key()}: causes.json does not have it; the first line is {line}")
            return
        named = expected.get("named", True)
        self.rows.append((fault.plan, fault.name, verdict, seconds, named, line))
        if verdict != expected["verdict"]:
            self.problems.append(f"{fault.key()}: {verdict}, expected {expected['verdict']}: {line}")
        for words in expected["words"]:
            if words not in line:
                self.problems.append(f"{fault.key()}: \"{words}\" is not in the first line: {line}")

    def print_table(self):
        for plan, fault, verdict, seconds, named, line in self.rows:
            mark = {True: "named", False: "not named", None: ""}[named]
            print(f"{plan:28} {fault:48} {verdict:10} {seconds:6.2f} s  {mark:10} {after_verdict(line)[:160]}")
        faults = [row for row in self.rows if row[4] is not None]
        print(f"{sum(row[4] for row in faults)} of {len(faults)} faults are named by the first line")

    def write_table(self, path):
        what = {fault.key(): fault.what for fault in FAULTS}
        table = ["| plan | fault | verdict | s | named | first line |", "| --- | --- | --- | --- | --- | --- |"]
        faults = [row for row in self.rows if row[4] is not None]
        for plan, fault, verdict, seconds, named, line in faults:
            text = after_verdict(line).replace("|", "\\|")
            table.append(f"| `{plan}` | {what[f'{plan}/{fault}']} | {verdict} | {seconds:.2f} | "
                         f"{'yes' if named else 'no'} | {text} |")
        table.append(f"\n{sum(row[4] for row in faults)} of {len(faults)} first lines name the cause.")
        with open(path, encoding="utf-8") as text:
            before, begin, rest = text.read().partition("<!-- faults -->\n")
        after = rest.partition("<!-- end of faults -->")[2]
        with open(path, "w", encoding="utf-8") as out:
            out.write(before + begin + "\n".join(table) + "\n<!-- end of faults -->" + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planproof", required=True, help="the program")
    parser.add_argument("--page", help="writes the table of faults into this page")
    parser.add_argument("plans", nargs="*", help="names in examples/daily (default: all)")
    arguments = parser.parse_args()
    known = []
    for fault in FAULTS:
        if fault.plan not in known:
            known.append(fault.plan)
    run = Run(arguments.planproof)
    for plan in arguments.plans or known:
        if plan not in known:
            run.problems.append(f"{plan}: faults.py has no fault of it")
    with tempfile.TemporaryDirectory() as folder:
        for plan in known:
            if arguments.plans and plan not in arguments.plans:
                continue
            right = run.right_plan(plan)
            faults = [fault for fault in FAULTS if fault.plan == plan]
            if len(faults) != 3:
                run.problems.append(f"{plan}: {len(faults)} faults instead of 3")
            for fault in faults:
                run.fault(fault, right, folder)
    run.print_table()
    if arguments.page:
        run.write_table(arguments.page)
    for problem in run.problems:
        print(problem, file=sys.stderr)
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
