"""Records and proves the programs of tests/torch/programs, and has healthy runs of them checked by what was proved.

    judge_programs.py --binary FILE [--only PATTERN ...] [--keep DIRECTORY] [--seed N] [--steps N] [--dtype TYPE] [--again]

Of each program that runs on at most four ranks: the verdict, parameters, of how many something was compared with the proof and of
how many a reason is given why nothing was, alarms, and whether losses, parameters and states are, bit for bit, those of a run
without the monitor. Traces, monitors and journals stay in DIRECTORY; what is proved there is not proved again. Exit status: 0 if
nothing alarms, all runs are the same, and nine of ten parameters of each program have a monitor or a reason."""
import argparse
import dataclasses
import fnmatch
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from program_runs import ProgramRun, execute, prepare  # noqa: E402
from journal_reader import Journal  # noqa: E402
from planproof.torch import launch  # noqa: E402
from record_all import build, mesh_of, programs, ranks_of  # noqa: E402

MOST_RANKS, LEAST_SHARE = 4, 0.9
#: The program that has no other ranks, which is not among those that are recorded.
SINGLE = "single"


@dataclasses.dataclass
class Judgement:
    """What a healthy run of a program came to."""

    run: ProgramRun
    verdict: str = ""
    parameters: int = 0
    monitored: int = 0
    reasons: dict = dataclasses.field(default_factory=dict)
    bare: list = dataclasses.field(default_factory=list)
    alarms: list = dataclasses.field(default_factory=list)
    compared: int = 0
    same: str = ""
    error: str = ""

    @property
    def right(self):
        covered = self.monitored + len(self.reasons)
        return not self.error and not self.alarms and self.same == "yes" and covered >= LEAST_SHARE * self.parameters

    def row(self):
        said = self.error or "; ".join(f"{alarm['tier']} {alarm['rule']} step {alarm['step']} {alarm['subject']}" for alarm in self.alarms[:2])
        return (f"| {self.run.program} | {self.run.ranks} | {self.verdict} | {self.parameters} | {self.monitored} | {len(self.reasons)} | "
                f"{self.compared} | {len(self.alarms)} | {self.same} | {said} |")


HEADER = ("| program | ranks | verdict | parameters | with monitor | with reason | facts compared | alarms | bit for bit | |\n"
          "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |")


def judged_programs():
    """Those that run on so few ranks."""
    return sorted([SINGLE, *(name for name in programs() if ranks_of(name) is None and ProgramRun(name).ranks <= MOST_RANKS)])


def monitors_of(name, binary, directory):
    """The verdict of a program, and the file of what was proved of it, empty of a program that is one process."""
    if not mesh_of(name):
        return "one process", ""
    file, said = os.path.join(directory, "monitors.json"), os.path.join(directory, "verdict.txt")
    traces = os.path.join(directory, "traces")
    if not glob.glob(os.path.join(traces, "rank*.trace")):
        prepare(name)
        launch(partial(build, name), mesh_of(name), traces, start_method="fork")
    if not os.path.exists(said) or os.path.getmtime(said) < os.path.getmtime(binary):
        paths = [os.path.join(traces, "reference.trace"), *sorted(glob.glob(os.path.join(traces, "rank*.trace")))]
        done = subprocess.run([binary, "verify", "-q", "--no-cache", *paths, "--monitors-out", file], capture_output=True, text=True,
                              check=False, timeout=300)
        with open(said, "w") as out:
            out.write((done.stdout + done.stderr).strip())
    with open(said) as text:
        return (text.read().split() or ["?"])[0].rstrip(":"), file if os.path.exists(file) else ""


def checked(binary, directory, monitors):
    """The report of `planproof monitor check`, and its exit code."""
    done = subprocess.run([binary, "monitor", "check", directory, *(["--monitors", monitors] if monitors else []), "--json", "-"],
                          capture_output=True, text=True, check=False, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"report"')]
    return (json.loads(lines[-1])["report"] if lines else {}), done


def parameters_of(directory):
    """Names of the parameters that ranks hold, each memory once, and of what is not observed with why."""
    names, unseen = set(), {}
    for path in sorted(glob.glob(os.path.join(directory, "*.journal"))):
        journal = Journal(path)
        for table in journal.tables:
            names.update(each["name"] for each in table if not each.get("buffer") and "shared_with" not in each)
        unseen.update((each["what"], each["why"]) for each in journal.not_observed)
    return names, unseen


def count_parameters(found, report, monitors, directory):
    """Sorts parameters into those that are compared with the proof, those with a reason why not, and the rest."""
    names, unseen = parameters_of(directory)
    if not monitors:
        found.parameters, found.reasons = len(names), {name: "there is no proof of a single process" for name in names}
        return
    with open(monitors) as file:
        proved = json.load(file)
    reasons = {**unseen, **dict(map(tuple, proved["without"]))}
    reasons.update((notice["subject"], notice["statement"]) for notice in report["notices"]
                   if notice["rule"] == "monitors" and notice["kind"] in ("not applicable", "not observed"))
    names.update(each["name"] for each in proved["tensors"] if any(own["kind"] == "gradient" for own in each["sets"]))
    if "steps" in reasons:
        reasons.update(dict.fromkeys(names, reasons["steps"]))
    monitored = {each["name"] for each in proved["tensors"]} & names - set(reasons)
    found.parameters, found.monitored = len(names), len(monitored)
    found.reasons = {name: reasons[name] for name in names if name in reasons}
    found.bare = sorted(names - monitored - set(reasons))


def difference(alone, monitored):
    """"yes" if two runs computed the same."""
    for expected, found in zip(alone.losses, monitored.losses):
        if json.dumps(expected) != json.dumps(found):
            step = next(step for step, pair in enumerate(zip(expected, found)) if json.dumps(pair[0]) != json.dumps(pair[1]))
            return f"losses differ from step {step} on"
    return "yes" if alone.digests == monitored.digests else "parameters differ"


def compared_runs(run, scratch, again):
    """The journals of a monitored run, and whether it computes what one without a monitor does. Those of an earlier call, if
    `again` is not asked for."""
    kept, journal = os.path.join(scratch, "same.txt"), os.path.join(scratch, "monitored", "journal")
    if os.path.exists(kept) and not again:
        with open(kept) as file:
            return journal, file.read()
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    runs = [execute(run, os.path.join(scratch, word), monitored=word == "monitored") for word in ("alone", "monitored")]
    for word, outcome in zip(("alone", "monitored"), runs):
        if outcome.error:
            raise RuntimeError(f"{word}: " + outcome.error.strip().splitlines()[-1])
    with open(kept, "w") as file:
        file.write(difference(*runs))
    return journal, difference(*runs)


def judge(run, binary, directory, again):
    """The judgement of one run."""
    found = Judgement(run)
    found.verdict, monitors = monitors_of(run.program, binary, directory)
    scratch = os.path.join(directory, f"{run.dtype}-{run.seed}-{run.steps}")
    journal, found.same = compared_runs(run, scratch, again)
    report, done = checked(binary, journal, monitors)
    if not report:
        found.error = f"check: exit {done.returncode}: {done.stderr.strip()[-200:]}"
        return found
    found.alarms, found.compared = report["alarms"], report["checked"]["proved"] + report["checked"]["derived"]
    count_parameters(found, report, monitors, journal)
    with open(os.path.join(scratch, "report.json"), "w") as file:
        json.dump({**report, "reasons": found.reasons, "bare": found.bare}, file, indent=1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--keep", metavar="DIRECTORY")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--again", action="store_true", help="run programs again whose runs are in DIRECTORY")
    options = parser.parse_args()
    print(HEADER, flush=True)
    wrong = 0
    for name in judged_programs():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in options.only):
            continue
        with tempfile.TemporaryDirectory() as own:
            run = ProgramRun(name, seed=options.seed, steps=options.steps, dtype=options.dtype)
            directory = os.path.join(options.keep or own, name)
            os.makedirs(directory, exist_ok=True)
            try:
                found = judge(run, options.binary, directory, options.again)
            except Exception as error:  # the others are judged all the same
                found = Judgement(run, error=(str(error).strip().splitlines() or [type(error).__name__])[-1])
        wrong += not found.right
        print(found.row(), flush=True)
    print(f"{wrong} are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
