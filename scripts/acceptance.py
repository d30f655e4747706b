#!/usr/bin/env python3
"""The acceptance list, line by line. Prints PASS, FAIL or SKIP (with the reason) for each line and exits
with 1 if any failed. Plans that are not part of the repository are looked for in ../shared."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure_memory import peak_mebibytes  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.environ.get("PLANPROOF_SHARED", os.path.join(ROOT, "..", "shared"))
DATA = os.path.join(SHARED, "data", "nnscaler")
PLANS = json.load(open(os.path.join(ROOT, "benchmarks", "budgets.json"), encoding="utf-8"))["plans"]
EXIT_CODES = {0: "PROVED", 1: "REFUTED", 2: "MALFORMED", 3: "UNKNOWN"}
CATALOGUE = [f"BR{i}" for i in range(1, 15)] + ["C1", "C2", "C3"]


class Acceptance:
    def __init__(self, build, full):
        self.build = build
        self.full = full
        self.planproof = os.path.join(build, "cli", "planproof")
        self.failed = 0
        self.scratch = tempfile.mkdtemp(prefix="planproof_acceptance_")

    def say(self, status, line, detail=""):
        self.failed += status == "FAIL"
        print(f"{status:5} {line}" + (f": {detail}" if detail else ""), flush=True)

    def check(self, condition, line, detail=""):
        self.say("PASS" if condition else "FAIL", line, detail)

    def run(self, *arguments, environment=None):
        """Exit code and standard output of the program."""
        finished = subprocess.run([self.planproof, *arguments], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                  check=False)
        return finished.returncode, finished.stdout

    def verify(self, files, *arguments, environment=None):
        """Verdict, report as text and report as JSON."""
        path = os.path.join(self.scratch, "report.json")
        if os.path.exists(path):
            os.remove(path)
        code, text = self.run("verify", "--no-cache", "--jobs", "2", "--json", path, *arguments,
                              *files, environment=environment)
        report = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
        return EXIT_CODES.get(code, f"exit {code}"), text, report

    @staticmethod
    def files(plan):
        return [os.path.join(DATA, plan["logical"]), os.path.join(DATA, plan["parallel"])]

    def plans(self):
        for plan in PLANS:
            if os.path.exists(self.files(plan)[1]):
                yield plan
            else:
                self.say("SKIP", plan["name"], "not in " + DATA)

    # ---- the lines ----

    def demo(self):
        finished = subprocess.run(["scripts/demo.sh", self.planproof], stdout=subprocess.PIPE,
                                  text=True, check=False, cwd=ROOT)
        self.check(finished.returncode == 0 and "PROVED" in finished.stdout and
                   "REFUTED" in finished.stdout, "demo proves an example, refutes its broken twin")

    def proved(self):
        for plan in self.plans():
            verdict, _, report = self.verify(self.files(plan))
            operators, outputs = report.get("operators", {}), report.get("outputs", {})
            idle = len(report.get("without_effect", []))
            self.check(verdict == "PROVED" and outputs["required"] == outputs["claimed"] > 0,
                       f"PROVED {plan['name']}",
                       f"{verdict}; outputs {outputs}; operators {operators}, {idle} without effect;"
                       f" tiers {report.get('tiers')}")

    def by_rank(self):
        for plan in self.plans():
            verdict, text, _ = self.verify(self.files(plan), "--collective-order", "rank")
            wanted = "REFUTED" if plan.get("wrong_by_rank") else "PROVED"
            named = not plan.get("wrong_by_rank") or "adapter" in "\n".join(text.split("\n")[:5])
            self.check(verdict == wanted and named, f"{wanted} by rank order: {plan['name']}",
                       text.split("\n")[0] if verdict != "PROVED" else "")

    def budgets(self):
        for plan in self.plans():
            command = [self.planproof, "verify", "-q", "--no-cache", "--jobs", "2", *self.files(plan)]
            times = []
            for _ in range(6):  # the first one warms the page cache
                start = time.monotonic()
                subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
                times.append(time.monotonic() - start)
            median = sorted(times[1:])[2]
            memory = max(peak_mebibytes(command) for _ in range(3))
            within = (median <= plan.get("seconds", 1e9) and memory <= plan.get("mebibytes", 1e9))
            self.check(within, f"budget {plan['name']}",
                       f"{median:.3f} s (<= {plan.get('seconds', '-')}), "
                       f"{memory:.0f} MiB (<= {plan.get('mebibytes', '-')})")

    def catalogue(self):
        llama = next((p for p in PLANS if p["name"].startswith("Llama dp2")), None)
        if not os.path.exists(self.files(llama)[1]):
            return self.say("SKIP", "catalogue of bugs", "needs the Llama plan in " + DATA)
        for kind in CATALOGUE:
            path = os.path.join(self.scratch, f"{kind}.plan")
            code, changed = self.run("mutate", *self.files(llama), "--kind", kind, "-o", path)
            if code != 0:
                self.say("FAIL", f"catalogue {kind}", changed.strip())
                continue
            verdict, text, _ = self.verify([path])
            self.check(verdict in ("REFUTED", "MALFORMED"), f"catalogue {kind}",
                       f"{changed.strip()} -> {text.splitlines()[0] if text else verdict}")
        return None

    def audit(self):
        for plan in self.plans():
            if "dp16" in plan["name"]:
                continue
            verdict, text, report = self.verify(self.files(plan), "--engine", "audit")
            self.check(verdict == "PROVED", f"audit {plan['name']}",
                       f"{text.splitlines()[0]}; tiers {report.get('tiers')}")
            verdict, _, _ = self.verify(self.files(plan), "--no-classes")
            self.check(verdict == "PROVED", f"--no-classes gives the same verdict: {plan['name']}")

    def workers(self):
        plan = next((p for p in self.plans() if p["name"].startswith("Llama dp2")), None)
        if plan is None:
            return
        _, _, whole = self.verify(self.files(plan))
        for kind, more in (("kill", []), ("sleep", ["--stage-timeout", "0.5"]),
                           ("alloc", ["--memory-limit", "64"])):
            verdict, text, report = self.verify(
                self.files(plan), *more,
                environment={"PLANPROOF_TEST_WORKER_FAULT": f"{kind}:norm"})
            stages = report.get("stages", {})
            self.check(verdict == "UNKNOWN" and stages.get("unknown", 0) > 0 and
                       stages["proved"] + stages["unknown"] == whole["stages"]["total"],
                       f"worker fault: {kind}", f"{text.splitlines()[0]}; stages {stages}")

    def tests(self, line, pattern):
        finished = subprocess.run(["ctest", "--test-dir", self.build, "-j", "2", "-R", pattern,
                                   "--no-tests=error"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, check=False)
        summary = re.findall(r"\d+% tests passed.*", finished.stdout)
        self.check(finished.returncode == 0, line, summary[0] if summary else "no such tests")

    def run_all(self):
        self.demo()
        self.proved()
        self.by_rank()
        self.budgets()
        self.catalogue()
        self.tests("every row of the soundness cases", "[Ss]oundness")
        self.tests("files that contradict themselves are malformed", "[Cc]ontradict|[Aa]ccumulat")
        self.tests("the order of operators does not matter", "[Ss]huffl")
        self.tests("random single-fault mutants", "[Mm]utant")
        self.audit()
        self.tests("reduced against full shapes", "[Rr]educed|FullShapes")
        self.tests("a user's operator; errors with line and column", "UserOperator|Declaration")
        self.tests("hostile input", "Hostile|Truncat|Corrupt|Limit")
        self.workers()
        if self.full:
            finished = subprocess.run(["scripts/fuzz.sh", self.build + "-fuzz", "600"], check=False,
                                      cwd=ROOT)
            self.check(finished.returncode == 0, "10 minutes of fuzzing per reader")
        else:
            self.say("SKIP", "10 minutes of fuzzing per reader", "run with --full")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--full", action="store_true", help="also what takes tens of minutes")
    parser.add_argument("--only", help="one line: demo, proved, by_rank, budgets, catalogue, audit, workers")
    arguments = parser.parse_args()
    acceptance = Acceptance(arguments.build, arguments.full)
    if arguments.only:
        getattr(acceptance, arguments.only)()
        return 1 if acceptance.failed else 0
    return acceptance.run_all()


if __name__ == "__main__":
    sys.exit(main())
