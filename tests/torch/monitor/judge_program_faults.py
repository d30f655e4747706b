"""Runs the programs of faults/ under the monitor, with their fault and without it, and judges them by what was proved of the right one.

    judge_program_faults.py --binary PLANPROOF [--only PATTERN ...] [--keep DIRECTORY] [--seed N]

Monitors are exported from the recorded traces of the right program (fault_traces/NAME.right). Each run has values at every step and
one audited step. The table has the first alarm by relations of what ranks hold, and that by the audited step."""
import argparse
import dataclasses
import fnmatch
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_TESTS = os.path.dirname(HERE)
sys.path.insert(0, HERE)

from program_runs import ProgramRun, execute  # noqa: E402

TRACES = os.path.join(TORCH_TESTS, "fault_traces")
STEPS, AUDITED = 4, 2
RULE = "audited_step"


@dataclasses.dataclass
class Judged:
    """Alarms of one run: of relations and laws, and of the audited step; or why there are none."""

    relations: list
    audit: list
    notices: list
    error: str = ""


def programs():
    """Names of the programs with a fault."""
    return sorted(os.path.basename(path)[:-len(".right")] for path in glob.glob(os.path.join(TRACES, "*.right")))


def export_of(binary, folder, file):
    """Writes the monitors of recorded traces. Gives the error, or nothing."""
    traces = [os.path.join(folder, "reference.trace"), *sorted(glob.glob(os.path.join(folder, "rank*.trace")))]
    done = subprocess.run([binary, "verify", "-q", "--no-cache", *traces, "--monitors-out", file, "--force"], capture_output=True,
                          text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip().splitlines()[-1]


def judge(binary, run, file, scratch):
    """Runs the program and checks the run."""
    outcome = execute(run, scratch, audit=[AUDITED])
    if outcome.error:
        return Judged([], [], [], outcome.error.strip().splitlines()[-1])
    report = os.path.join(scratch, "report.json")
    done = subprocess.run([binary, "monitor", "check", outcome.directory, "--monitors", file, "--json", report, "-q"], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 1):
        return Judged([], [], [], done.stderr.strip())
    with open(report) as opened:
        content = json.load(opened)
    alarms = content["alarms"]
    return Judged([each for each in alarms if each["rule"] != RULE], [each for each in alarms if each["rule"] == RULE],
                  [each for each in content.get("notices", []) if each["rule"] == RULE])


def shown(alarms, length=90):
    """The first alarm, for a table."""
    if not alarms:
        return "-"
    first = alarms[0]
    return f"{first['tier']} {first['rule']}, step {first['step']}: {first['subject']}: {first['statement']}"[:length].replace("|", "/")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep runs here")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=90, help="of an alarm in the table")
    options = parser.parse_args()
    names = [name for name in programs() if any(fnmatch.fnmatch(name, each) for each in options.only)]
    relations = audits = both = wrong = failed = 0
    print("| program | relations and laws | audited step |\n| --- | --- | --- |")
    for name in names:
        for fault in (True, False):
            with tempfile.TemporaryDirectory() as own:
                kept = os.path.join(options.keep or own, name if fault else f"{name}.right")
                os.makedirs(os.path.dirname(kept), exist_ok=True)
                file = kept + ".monitors"
                error = export_of(options.binary, os.path.join(TRACES, f"{name}.right"), file)
                found = Judged([], [], [], error) if error else judge(
                    options.binary, ProgramRun(name, fault=fault, seed=options.seed, steps=STEPS), file, kept)
            if found.error:
                failed += 1
                print(f"| {os.path.basename(kept)} | not run | {found.error[:120]} |", flush=True)
                continue
            relations += fault and bool(found.relations)
            audits += fault and bool(found.audit)
            both += fault and bool(found.relations or found.audit)
            wrong += not fault and bool(found.relations or found.audit)
            note = shown(found.audit, options.length) if found.audit or not found.notices else found.notices[0]["statement"]
            print(f"| {os.path.basename(kept)} | {shown(found.relations, options.length)} | {note} |", flush=True)
    print(f"{len(names)} faults: {relations} found by relations and laws, {audits} by the audited step, {both} by either; "
          f"{wrong} alarms of right programs, {failed} not run")
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
