"""Runs, learns and checks for the judge: runs in parallel, each once; verdicts of `planproof monitor` as types."""
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import shutil
import subprocess

from monitored_run import Outcome, execute, prepare

NO_ALARM, ALARM, BAD_INPUT, NOTHING_CHECKED = 0, 1, 2, 3


@dataclasses.dataclass
class Verdict:
    """What `planproof monitor check` said of a run."""

    code: int
    alarms: list
    notices: list
    error: str = ""

    @property
    def first(self):
        """The alarm of the earliest step; of those the first that was given."""
        return min(self.alarms, key=lambda alarm: alarm["step"], default=None)

    def line(self):
        if self.error and not self.alarms:
            return f"exit {self.code}: {self.error}"
        return "; ".join(f"{alarm['tier']} {alarm['rule']} step {alarm['step']} {alarm['subject']}: {alarm['statement']}"
                         for alarm in self.alarms[:3]) or f"exit {self.code}"


def kept_or_executed(settings, scratch):
    """The outcome of a run that is there, or that is made now."""
    path = os.path.join(scratch, "outcome.json")
    if os.path.exists(path):
        with open(path) as file:
            return Outcome(settings, **json.load(file))
    shutil.rmtree(scratch, ignore_errors=True)
    outcome = execute(settings, scratch)
    if not outcome.error:
        with open(path, "w") as file:
            json.dump({key: value for key, value in vars(outcome).items() if key != "settings"}, file)
    return outcome


class Runner:
    """Keeps what ran under a directory; a run of the same settings is not made twice."""

    def __init__(self, binary, directory, jobs):
        prepare()
        self.binary, self.directory, self.outcomes, self.facts = binary, directory, {}, {}
        self.pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))

    def want(self, *all_settings):
        """Starts what was not started, in this process or in an earlier one with the same directory."""
        for settings in all_settings:
            if settings not in self.outcomes:
                scratch = os.path.join(self.directory, settings.label.replace("/", ".").replace(" ", "_"))
                self.outcomes[settings] = self.pool.submit(kept_or_executed, settings, scratch)

    def outcome(self, settings):
        self.want(settings)
        return self.outcomes[settings].result()

    def learned(self, *references):
        """A file with facts learned from runs, or what went wrong."""
        if references not in self.facts:
            path = os.path.join(self.directory, f"facts{len(self.facts):04}.json")
            journals = [self.outcome(each).directory for each in references]
            done = self._command("learn", *journals, "-o", path)
            self.facts[references] = (path, "" if done.returncode == 0 else _last_line(done))
        return self.facts[references]

    def check(self, settings, references=(), monitors=None):
        """The verdict of a run, with facts of `references` if there are any."""
        outcome = self.outcome(settings)
        if outcome.error:
            return Verdict(-1, [], [], "the run failed: " + outcome.error.strip().splitlines()[-1])
        options = ["--monitors", monitors] if monitors else []
        if references:
            path, error = self.learned(*references)
            if error:
                return Verdict(-1, [], [], "learn: " + error)
            options += ["--invariants", path]
        done = self._command("check", outcome.directory, *options, "--json", "-")
        alarms, notices = _parsed(done.stdout)
        return Verdict(done.returncode, alarms, notices, _last_line(done) if done.returncode not in (NO_ALARM, ALARM) else "")

    def _command(self, *arguments):
        return subprocess.run([self.binary, "monitor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=300, check=False)


def _last_line(done):
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"exit {done.returncode}"


def _parsed(text):
    """Alarms, in which those of one cause are one, and notices: of the last line of `--json -`, which has the whole report."""
    for line in reversed(text.splitlines()):
        if line.startswith('{"report"'):
            report = json.loads(line)["report"]
            return report["alarms"], report["notices"]
    return [], []


def names_subject(alarm, fault):
    """Whether an alarm names what a fault is about."""
    said = " ".join([alarm["rule"], alarm["subject"], alarm["statement"], *alarm.get("others", ())])
    return any(each in said for each in fault.subjects)


def in_time(alarm, fault):
    first, last = fault.window
    return first <= alarm["step"] <= last
