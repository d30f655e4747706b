"""Judges the monitor: healthy runs, unusual ones, and the faults of FAULTS.md.

    judge_monitor.py [--binary FILE] [--parts healthy,unusual,faults] [--only PATTERN ...] [--seeds N] [--first-seed N]
                     [--jobs N] [--keep DIRECTORY] [--no-references]

Each run is checked without references, with the monitors of the proof of its program (proved_programs.py), and with facts learned
from two other runs of its script. The tables have each alarm of a healthy run, and of each fault its first alarms. Exit status: 0 if no healthy run alarmed and each fault was found in time."""
import argparse
import dataclasses
import fnmatch
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from judging import ALARM, NO_ALARM, NOTHING_CHECKED, Runner, in_time, names_subject  # noqa: E402
from monitor_faults import FAULTS  # noqa: E402
from monitor_scripts import HEALTHY, UNUSUAL  # noqa: E402
from proved_programs import monitors_of, runs_what_is_proved  # noqa: E402

PARTS = ("healthy", "unusual", "faults")
#: Faults that are to be found without any reference (FAULTS.md).
LEAST_ALONE = 19


class Tally:
    """Counts, and the lines of what is not as it should be."""

    def __init__(self):
        self.counts, self.wrong = {}, []

    def add(self, name, right, line=""):
        good, all_ = self.counts.get(name, (0, 0))
        self.counts[name] = (good + bool(right), all_ + 1)
        if not right:
            self.wrong.append(f"{name}: {line}")

    def print(self, title):
        print(f"\n## {title}\n\n| check | right | of |\n| --- | --- | --- |")
        for name, (good, all_) in self.counts.items():
            print(f"| {name} | {good} | {all_} |")
        if self.wrong:
            print()
        for line in self.wrong:
            print(f"- {line}")
        sys.stdout.flush()


def references(script, seed):
    """Two healthy runs of a script, of the settings that references have."""
    return script.settings(seed), script.settings(seed + 1)


def healthy_runs(script, options):
    """Runs that are kept back: other seeds, numbers of steps, and distances of samples."""
    seed = options.first_seed + 2
    return [script.settings(seed + number, steps=9 + 3 * number, every=1 if number % 3 < 2 else 2) for number in range(options.seeds)]


def proved_monitors(runner, settings):
    """The file of monitors that a run is checked with; None if its program is not proved."""
    return monitors_of(settings.program, runner.directory, runner.binary) if runs_what_is_proved(settings) else None


def judge_proved(runner, tally, settings):
    """Whether a healthy run has no alarm of what is proved of its program."""
    monitors = proved_monitors(runner, settings)
    if monitors:
        verdict = runner.check(settings, monitors=monitors)
        tally.add("proved: no alarm", verdict.code == NO_ALARM, f"{settings.label}: {verdict.line()}")


def judge_healthy(runner, scripts, options):
    tally = Tally()
    for script in scripts:
        runner.want(*healthy_runs(script, options), *references(script, options.first_seed))
    for script in scripts:
        known = references(script, options.first_seed)
        for settings in (*known, *healthy_runs(script, options)):
            verdict = runner.check(settings)
            tally.add("laws: no alarm", verdict.code == NO_ALARM, f"{settings.label}: {verdict.line()}")
            judge_proved(runner, tally, settings)
        for settings in healthy_runs(script, options) if options.references else ():
            verdict = runner.check(settings, known)
            tally.add("learned: no alarm", verdict.code == NO_ALARM, f"{settings.label}: {verdict.line()}")
    tally.print("Healthy runs")
    return tally


def judge_unusual(runner, scripts, options):
    tally = Tally()
    for script in scripts:
        runner.want(*references(script, options.first_seed), script.settings(options.first_seed + 2, 14))
        if options.references:
            runner.want(*references(script.plain, options.first_seed))
    for script in scripts:
        known, held_back = references(script, options.first_seed), script.settings(options.first_seed + 2, 14)
        for settings in (*known, held_back):
            verdict = runner.check(settings)
            tally.add("laws: no alarm", verdict.code in (NO_ALARM, NOTHING_CHECKED), f"{settings.label}: {verdict.line()}")
            judge_proved(runner, tally, settings)
        if not options.references:
            continue
        verdict = runner.check(held_back, known)
        tally.add("learned from its own script: no alarm", verdict.code == NO_ALARM, f"{held_back.label}: {verdict.line()}")
        if script.variant:
            verdict = runner.check(held_back, references(script.plain, options.first_seed))
            right = verdict.code in (NO_ALARM, NOTHING_CHECKED) or (verdict.code == ALARM and len(verdict.alarms) == 1)
            tally.add("learned from the plain program: exit 3 or one difference", right,
                      f"{held_back.label}: {len(verdict.alarms)} alarms: {verdict.line()}")
    tally.print("Healthy but unusual runs")
    return tally


def cell(verdict, fault):
    """How a fault was found, as a cell, and whether in time with its subject."""
    alarm = verdict.first
    if alarm is None:
        return verdict.error or "-", False
    # Of the alarms of one step the one that names the subject counts: they are of one time.
    same = [each for each in verdict.alarms if each["step"] == alarm["step"]]
    named = [each for each in same if names_subject(each, fault)]
    alarm = named[0] if named else alarm
    marks = ([] if named else ["other subject"]) + ([] if in_time(alarm, fault) else [f"not in {fault.window}"])
    text = f"{alarm['tier']} {alarm['rule']}, {alarm['step']}, `{alarm['subject']}`" + "".join(f" ({mark})" for mark in marks)
    return text, not marks


def healthy_twins(fault, options):
    """Two runs without the fault, of other seeds."""
    return tuple(fault.settings(options.first_seed + number, fault=False) for number in range(2))


def judge_faults(runner, faults, options):
    tally = Tally()
    rows = []
    for fault in faults:
        runner.want(fault.settings(options.first_seed + 2), *(healthy_twins(fault, options) if options.references else ()))
    for fault in faults:
        settings = fault.settings(options.first_seed + 2)
        laws, by_laws = cell(runner.check(settings), fault)
        monitors, proved, by_proof = proved_monitors(runner, settings), "not proved", False
        if monitors:
            verdict = runner.check(settings, monitors=monitors)
            of_proof = [alarm for alarm in verdict.alarms if alarm["tier"] in ("proved", "derived")]
            proved, by_proof = cell(dataclasses.replace(verdict, alarms=of_proof), fault)
        alone = by_laws or by_proof
        tally.add("found without references", alone or fault.reference, f"{fault.name}: {laws}; {proved}")
        both = "not asked"
        if options.references:
            both, found = cell(runner.check(settings, healthy_twins(fault, options), monitors), fault)
            tally.add("found with references", found or alone, f"{fault.name}: {both}")
        rows.append((fault, laws, proved, both, alone))
    print("\n| fault | step | by laws | by what is proved | with references |\n| --- | --- | --- | --- | --- |")
    for fault, laws, proved, both, _ in rows:
        print(f"| {fault.name} | {fault.step} | {laws} | {proved} | {both} |")
    found = sum(row[4] for row in rows)
    print(f"\nWithout any reference: {found} of {len(rows)}.")
    if len(rows) == len(FAULTS):
        tally.add(f"found without references, at least {LEAST_ALONE}", found >= LEAST_ALONE, f"{found} of {len(rows)}")
    tally.print("Faults")
    return tally


def chosen(things, patterns):
    return [each for each in things if not patterns or any(fnmatch.fnmatch(each.name, pattern) for pattern in patterns)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=os.environ.get("PLANPROOF_BINARY", "planproof"))
    parser.add_argument("--parts", default=",".join(PARTS), help="of healthy, unusual, faults")
    parser.add_argument("--only", nargs="*", default=[], metavar="PATTERN", help="names of scripts or faults")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each healthy script besides its two references")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-references", dest="references", action="store_false", help="nothing is learned")
    parser.add_argument("--keep", metavar="DIRECTORY", help="where the journals are to stay; those that are there are not made again")
    return parser.parse_args()


def judge(options, directory):
    runner = Runner(options.binary, directory, options.jobs)
    parts = options.parts.split(",")
    tallies = []
    if "healthy" in parts:
        tallies.append(judge_healthy(runner, chosen(HEALTHY, options.only), options))
    if "unusual" in parts:
        tallies.append(judge_unusual(runner, chosen(UNUSUAL, options.only), options))
    if "faults" in parts:
        tallies.append(judge_faults(runner, chosen(FAULTS, options.only), options))
    return 1 if any(tally.wrong for tally in tallies) else 0


def main():
    options = arguments()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        return judge(options, options.keep)
    with tempfile.TemporaryDirectory() as directory:
        return judge(options, directory)


if __name__ == "__main__":
    sys.exit(main())
