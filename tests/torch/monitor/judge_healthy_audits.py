"""Runs right programs under the monitor at the proof's sizes and at others, and compares an audited step of each with the proof.

    judge_healthy_audits.py --binary PLANPROOF [--only PATTERN ...] [--size NAME ...] [--seed N]

Programs are those of programs/ whose traces are recorded (traces/NAME). `--size`: sizes of SIZES; all by default where a program has
them. The table has the operators that were compared, and the first alarm or why nothing was compared."""
import argparse
import contextlib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from judge_program_faults import AUDITED, RULE, STEPS, export_of, shown  # noqa: E402
from program_runs import ProgramRun, execute  # noqa: E402

import models  # noqa: E402

TRACES = os.path.join(os.path.dirname(HERE), "traces")
#: Defaults of the models: vocabulary, width, hidden features, layers of the transformer; width and hidden features of the MLP; samples.
SIZES = {
    "as proved": {},
    "wide": {"Transformer": (32, 64, 96, 2), "Mlp": (24, 40), "batch": (4, 24)},
    "batch": {"text": (4, 12), "batch": (12, 8)},
    "deep": {"Transformer": (32, 16, 24, 4)},
}


def patches(size, stack):
    """The models' defaults are replaced."""
    for name, defaults in SIZES[size].items():
        made = getattr(models, name)
        made = made.__init__ if isinstance(made, type) else made
        stack.enter_context(mock.patch.object(made, "__defaults__", defaults))


def judge(binary, name, size, seed):
    """Operators that were compared, alarms, and notices of a run."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        file = os.path.join(scratch, "monitors")
        error = export_of(binary, os.path.join(TRACES, name), file)
        if error:
            return 0, [], [error]
        patches(size, stack)
        outcome = execute(ProgramRun(name, seed=seed, steps=STEPS), os.path.join(scratch, "run"), audit=[AUDITED])
        if outcome.error:
            return 0, [], [outcome.error.strip().splitlines()[-1]]
        report = os.path.join(scratch, "report.json")
        subprocess.run([binary, "monitor", "check", outcome.directory, "--monitors", file, "--json", report, "-q"], capture_output=True,
                       check=False)
        with open(report) as opened:
            content = json.load(opened)
        tiers = content.get("checked", {})
        audits = [each for each in content["alarms"] if each["rule"] == RULE]
        return tiers.get("proved", 0) + tiers.get("derived", 0), audits, [
            each["statement"] for each in content.get("notices", []) if each["rule"] == RULE]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--size", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    wrong = 0
    print("| program | sizes | facts | alarm |\n| --- | --- | ---: | --- |")
    for name in sorted(os.listdir(TRACES)):
        if not any(fnmatch.fnmatch(name, each) for each in options.only):
            continue
        for size in options.size:
            facts, audits, notices = judge(options.binary, name, size, options.seed)
            wrong += bool(audits)
            print(f"| {name} | {size} | {facts} | {shown(audits, 400) if audits or not notices else notices[0][:160]} |", flush=True)
    print(f"{wrong} runs with an alarm")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
