#!/usr/bin/env python3
"""The acceptance list, line by line: each command, what came out, and whether the line holds.

    acceptance.py [--build DIR] [--full] [--only N ...]

Without --full the long suites run in small samples, and a line that rests on a sample is "not shown",
never "holds". Plans that are not part of the repository are looked for in ../shared (PLANPROOF_SHARED).
Exit code 1 if a line does not hold; with --full also if one is not shown."""
import argparse
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import acceptance_at_scale  # noqa: E402
import acceptance_cliffs  # noqa: E402
import acceptance_folding  # noqa: E402
import acceptance_inference  # noqa: E402
from acceptance_line import Line  # noqa: E402
from measure_memory import peak_mebibytes  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.path.realpath(os.environ.get("PLANPROOF_SHARED", os.path.join(ROOT, "..", "shared")))
DATA = os.path.join(SHARED, "data", "nnscaler")
PLANS = json.load(open(os.path.join(ROOT, "benchmarks", "budgets.json"), encoding="utf-8"))["plans"]
VERDICTS = ["PROVED", "REFUTED", "MALFORMED", "UNKNOWN"]
SMALL_PLANS = os.path.join(ROOT, "tests", "frontend", "write_nnscaler_plan.py")


class Acceptance:
    def __init__(self, build, full):
        self.build = os.path.abspath(build)
        self.full = full
        self.data = DATA
        self.planproof = os.path.join(self.build, "cli", "planproof")
        self.scratch = tempfile.mkdtemp(prefix="planproof_acceptance_")

    # ---- What several lines need ----

    def verify(self, line, files, *arguments, environment=None, show=1):
        """Verdict, report as text and report as JSON."""
        path = os.path.join(self.scratch, "report.json")
        if os.path.exists(path):
            os.remove(path)
        code, text = line.run(self.planproof, "verify", "--no-cache", "--jobs", "2", "--json", path,
                              *arguments, *files, environment=environment, show=show)
        report = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
        return VERDICTS[code] if 0 <= code < 4 else f"exit code {code}", text, report

    @staticmethod
    def files(plan):
        return [os.path.join(DATA, plan["logical"]), os.path.join(DATA, plan["parallel"])]

    def plans(self, line, wanted=lambda plan: True):
        """The published plans; says aloud which are missing."""
        for plan in filter(wanted, PLANS):
            if all(os.path.exists(path) for path in self.files(plan)):
                yield plan
            else:
                line.open(f"{plan['name']}: its files are not in {DATA}")

    def small(self, plan, fault="", seed=0):
        """A small plan in nnScaler's format, written by our own script."""
        path = os.path.join(self.scratch, f"{plan}-{fault}-{seed}.pkl")
        subprocess.run([sys.executable, SMALL_PLANS, path, "--plan", plan, "--fault", fault,
                        "--seed", str(seed)], check=True)
        return path

    def program(self, name, suite="random"):
        return os.path.join(self.build, "tests", suite, name)

    # ---- The lines, in the order of the list ----

    def new_machine(self, line):
        """A new machine: make demo, make test, .ci/run in a clean clone."""
        code, text = line.run("make", "--no-print-directory", "demo", f"BUILD={self.build}", show=0)
        line.require(code == 0 and re.search("^PROVED", text, re.M) and
                     re.search("^REFUTED: .*missing", text, re.M),
                     "make demo: PROVED for an example, REFUTED with its cause for the broken twin")
        for plan, fault, wanted in (("tp2", "", "PROVED"), ("dp2nm2", "", "PROVED"),
                                    ("tp2", "no_all_reduce", "REFUTED")):
            verdict, _, _ = self.verify(line, [self.small("single"), self.small(plan, fault)])
            line.require(verdict == wanted, f"a small file of our own, {plan} {fault}: {verdict}")
        if not self.full:
            return line.open("make test and .ci/run in clean clones: with --full")
        for shared in (True, False):
            clone = os.path.join(self.scratch, "with" if shared else "without", "planproof")
            os.makedirs(os.path.dirname(clone))
            if shared and os.path.isdir(SHARED):
                os.symlink(SHARED, os.path.join(os.path.dirname(clone), "shared"))
            elif shared:
                line.open(f".ci/run with ../shared: {SHARED} is not there")
                continue
            line.run("git", "clone", "--quiet", ROOT, clone)
            start = time.monotonic()
            code, text = line.run(".ci/run", cwd=clone, timeout=3000, show=0,
                                  environment={"PLANPROOF_SHARED": ""} if not shared else None)
            minutes = (time.monotonic() - start) / 60
            counted = re.findall(r"SKIPPED TESTS: \d+", text)
            line.require(code == 0 and minutes < 40 and counted,
                         f".ci/run {'with' if shared else 'without'} ../shared: exit code {code}, "
                         f"{minutes:.1f} minutes, {counted[-1] if counted else 'skips not counted'}")
            shutil.rmtree(clone)
        line.by_hand("packages are only installed where they are missing: try a bare machine")
        return None

    def published_plans(self, line):
        """The seven published pairs are PROVED, by rank order all but the 512-device ones."""
        warned = {}  # the first adapter whose order by position differs
        for plan in self.plans(line):
            verdict, _, report = self.verify(line, self.files(plan))
            warned[plan["name"]] = next((re.findall(r"cell \d+", text)[0]
                                         for text in report.get("warnings", [])
                                         if text.startswith("adapter, cell")), "no cell")
            operators, outputs = report.get("operators", {}), report.get("outputs", {})
            idle = sum(int((re.search(r"\((\d+) instances\)$", text) or [0, 1])[1])
                       for text in report.get("without_effect", []))
            line.require(verdict == "PROVED", f"{plan['name']}: {verdict}")
            line.require(operators and operators["covered"] + idle == operators["parallel"],
                         f"{plan['name']}: {operators.get('parallel')} operators, "
                         f"{operators.get('covered')} covered, {idle} listed without effect")
            line.require(outputs and outputs["required"] == outputs["claimed"] > 0,
                         f"{plan['name']}: outputs {outputs}")
        for plan in self.plans(line):
            verdict, text, _ = self.verify(line, self.files(plan), "--collective-order", "rank")
            wrong = plan.get("wrong_by_rank")
            line.require(verdict == ("REFUTED" if wrong else "PROVED"),
                         f"{plan['name']} by rank order: {verdict}")
            if wrong:
                first = warned[plan["name"]]
                line.require(f"({first})" in "\n".join(text.split("\n")[:5]),
                             f"{plan['name']} by rank order names the first wrong adapter, {first}")

    def budgets(self, line):
        """Whole-command time and peak memory."""
        for plan in self.plans(line, lambda plan: "seconds" in plan):
            command = [self.planproof, "verify", "-q", "--no-cache", "--jobs", "2",
                       *self.files(plan)]
            line.run(*command, show=1)  # warms the page cache
            times = []
            for _ in range(5):
                start = time.monotonic()
                subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
                times.append(time.monotonic() - start)
            median = sorted(times)[2]
            memory = max(peak_mebibytes(command) for _ in range(3))
            line.require(median <= plan["seconds"] and memory <= plan.get("mebibytes", 1e9),
                         f"{plan['name']}: median of 5 {median:.3f} s (budget {plan['seconds']} s), "
                         f"{memory:.0f} MiB (budget {plan.get('mebibytes', '-')})")
        print(f"    load of the machine: {os.getloadavg()[0]:.1f}")

    def catalogue(self, line):
        """Bugs BR1 to BR14 and C1 to C3, re-created by planproof mutate."""
        page = open(os.path.join(ROOT, "docs", "bugs.md"), encoding="utf-8").read()
        kinds = [f"BR{i}" for i in range(1, 15)] + ["C1", "C2", "C3"]
        for plan in self.plans(line, lambda plan: plan["name"].startswith("Llama dp2")):
            for kind in kinds:
                path = os.path.join(self.scratch, f"{kind}.plan")
                source = [os.path.join(ROOT, "examples", "rotary_sp2.json")] if kind == "C1" \
                    else self.files(plan)
                code, changed = line.run(self.planproof, "mutate", *source, "--kind", kind, "-o",
                                         path, show=1)
                if not line.require(code == 0, f"{kind}: {changed.strip()[:120]}"):
                    continue
                verdict, text, _ = self.verify(line, [path], show=5)
                first = "\n".join(text.split("\n")[:5])
                line.require(verdict in ("REFUTED", "MALFORMED") and "device" in first,
                             f"{kind}: {verdict}, devices named")
                line.require(f"| {kind} |" in page, f"{kind}: has its row in docs/bugs.md")
        line.tests("operator, ranks and cause of every bug in the first five lines",
                   r"cli\.Bugs/Catalogue\..*", r"cli\.CatalogueOfExamples\..*",
                   timeout=900)

    def soundness_cases(self, line):
        """Every row of SOUNDNESS-CASES.md is a test with the verdict given there."""
        names = line.tests("verdicts of the rows", r"soundness_cases\..*HasItsVerdict.*",
                           r"soundness_cases\..*TheRowIsTrueAtFullSize.*",
                           r"soundness_cases\.SoundnessManifest\..*",
                           r"stages\.ClassKeyTest\.SharingMatters",
                           r"stages\.ClassKeyTest\.OffsetsMatterEachAndTogether")
        path = os.path.join(SHARED, "SOUNDNESS-CASES.md")
        if not os.path.exists(path):
            return line.open(f"{path} is not there: whether a row is missing was not looked at")
        rows = re.findall(r"^\| ([RDAS]\d+) \|", open(path, encoding="utf-8").read(), re.M)
        with_tests = set(re.findall(r"HasItsVerdict/([RDAS]\d+)_", " ".join(names)))
        key_tests = open(os.path.join(ROOT, "tests", "stages", "class_key_test.cc"),
                         encoding="utf-8").read()
        with_tests |= set(re.findall(r"^// (S\d+):", key_tests, re.M))  # rows about classes
        missing = [row for row in rows if row not in with_tests and row != "R17"]
        return line.require(rows and not missing, f"{len(rows)} rows; without a test: "
                            f"{', '.join(missing) or 'none'} (R17 waits for the plan generator)")

    def contradictions(self, line):
        """Files that contradict themselves are MALFORMED, what only looks like it is not."""
        for plan, fault in (("tp2", "two_index_maps"), ("tp2", "two_value_maps"),
                            ("tp2", "two_producers"), ("dp2nm2", "batch_ratio")):
            verdict, _, _ = self.verify(line, [self.small("single"), self.small(plan, fault)])
            line.require(verdict == "MALFORMED", f"{fault}: {verdict}")
        for single, plan, fault in (("accumulated", "dp2nm2", "accumulated"),
                                    ("", "tp2", "local_ids"), ("multiref", "tp2", "multiref")):
            verdict, _, _ = self.verify(line, [self.small("single", single),
                                               self.small(plan, fault)])
            line.require(verdict == "PROVED", f"no contradiction, {fault}: {verdict}")
        for seed in range(5):
            verdict, _, _ = self.verify(line, [self.small("single", "shuffled", seed),
                                               self.small("dp2nm2")])
            line.require(verdict == "PROVED", f"operators shuffled by seed {seed}: {verdict}")
        line.tests("the same in the reader's tests, adapter-local ids and multiref's value map too",
                   r"frontend\.SmallPlanTest\.ContradictionsAreMalformed",
                   r"frontend\.SmallPlanTest\.GradientsOfSeveralUsesAddUp",
                   r"frontend\.SmallPlanTest\.IdsLocalToAnAdapterAreNoContradiction",
                   r"frontend\.SmallPlanTest\.TheBackwardOfMultirefHoldsWhateverItsValueMapsSay",
                   r"frontend\.SmallPlanTest\.OrderOfTheLogicalOperatorsDoesNotCount",
                   r"frontend\.PlanFormat\.TheOrderOfLogicalOperatorsDoesNotMatter")

    def mutants(self, line):
        """Random single-fault mutants, and a fresh symbol added to every operator's output."""
        campaign = self.program("mutation_campaign")
        counts = {"MLP": 700, "LLAMA": 700, "MOE": 600} if self.full else {"MLP": 40, "LLAMA": 2}
        verdicts = Counter()
        for pair, count in counts.items():
            path = os.path.join(self.scratch, f"{pair}.csv")
            code, text = line.run(campaign, "--pair", pair, "--count", str(count), "--csv", path,
                                  show=0, timeout=6 * 3600)
            if code == 2 and "NOT_FOUND" in text:
                line.open(f"{pair}: {text.strip()[:120]}")
                continue
            rows = list(csv.DictReader(open(path, encoding="utf-8"))) if code in (0, 1) else []
            found = Counter(row["verdict"] for row in rows)
            verdicts += found
            line.require(code == 0 and len(rows) == count and "false PROVED: 0" in text,
                         f"{pair}: {len(rows)} mutants, {dict(found)}, none PROVED that differs")
        total = sum(verdicts.values())
        if total:
            shaped, unknown = total - verdicts["MALFORMED"], verdicts["UNKNOWN"]
            line.require(2 * shaped >= total, f"{shaped} of {total} mutants are well-shaped")
            line.require(50 * unknown <= total, f"{unknown} of {total} are UNKNOWN (at most 2 %)")
        for pair in ("MLP", "LLAMA", "MOE") if self.full else ("MLP",):
            code, text = line.run(campaign, "--pair", pair, "--perturb", "--count", "0",
                                  *(["--distinct"] if pair != "MLP" else []), show=0,
                                  timeout=6 * 3600)
            if code == 2 and "NOT_FOUND" in text:
                line.open(f"{pair}: {text.strip()[:120]}")
                continue
            last = text.strip().splitlines()[-1] if text.strip() else ""
            for effect in re.findall(r"^no effect: .*", text, re.M)[:5]:
                print("      " + effect)
            line.require(code == 0 and re.search(r": [1-9]\d* of \d+ outputs perturbed.*"
                                                 r"false PROVED 0$", last), last)
        if not self.full:
            line.open(f"a sample of {total} mutants; 2,000, and all perturbations, with --full")

    def deviations(self, line):
        """Single operator instances that deviate in L3 and D3: refuted, rank and operator named, in
        3 times the proof."""
        campaign, count = self.program("deviation_campaign"), 20 if self.full else 4
        for preset in ("L3", "D3"):
            directory = os.path.join(self.scratch, preset)
            line.run(self.planproof, "generate", "--preset", preset, "--output", directory, show=0)
            code, text = line.run(campaign, os.path.join(directory, "logical.plan"),
                                  os.path.join(directory, "parallel.plan"), "--count", str(count),
                                  show=0, timeout=3600)
            last = text.strip().splitlines()[-1] if text.strip() else ""
            line.require(code == 0 and f"{count} of {count} found" in last, f"{preset}: {last}")
        if not self.full:
            line.open("a sample of 4 per plan; 20 with --full")

    def strategies(self, line):
        """Every strategy and pair of them at small size: PROVED, numbers agree, 50 mutants each."""
        campaign = self.program("strategies_campaign", "models")
        count = 50 if self.full else 1
        code, text = line.run(campaign, "--mutants", str(count), "--first", "1000", "--shift", "50",
                              show=0, timeout=4 * 3600)
        last = text.strip().splitlines()[-1] if text.strip() else ""
        mutants = re.search(r"; (\d+) mutants, (\d+) unknown", last)
        line.require(code == 0 and mutants and int(mutants[2]) <= 0.02 * int(mutants[1]), last)
        if not self.full:
            line.open("one mutant of each; 50 with --full")

    def generated_bugs(self, line):
        """Every row of BUGS.md that has a place in a generated plan: PROVED without, named with."""
        line.tests("bugs", r"cli\.Rows/GeneratedBug\..*", r"cli\..*WrittenBug\..*",
                   r"cli\.BugsWithoutPlace\..*")

    def audit(self, line):
        """Normal form and Z3 on every class; --no-classes."""
        for plan in self.plans(line, lambda plan: "dp16" not in plan["name"]):
            if not self.full and plan["name"].split()[0] in ("GPT", "MoE"):
                line.open(f"{plan['name']}: takes minutes, with --full")
                continue
            _, _, report = self.verify(line, self.files(plan), "--engine", "audit")
            tiers = report.get("tiers", {})
            differ = tiers.get("audit: raw terms differ", 0)
            definite = tiers.get("audit: z3 equal", 0) + tiers.get("audit: z3 different", 0)
            line.require(report.get("verdict") == "PROVED" and
                         tiers.get("audit: contradictions") == 0,
                         f"{plan['name']}: {report.get('verdict')}, "
                         f"{tiers.get('audit: contradictions')} contradictions, tiers {tiers}")
            line.require(differ == 0 or definite >= 0.8 * differ,
                         f"{plan['name']}: Z3 is definite on {definite} of the {differ} classes whose "
                         "raw terms are not identical (80 % wanted)")
        for plan in self.plans(line):
            with_classes, _, _ = self.verify(line, self.files(plan))
            without, _, _ = self.verify(line, self.files(plan), "--no-classes")
            line.require(with_classes == without, f"{plan['name']}: {without} with --no-classes")

    def small_plans(self, line):
        """Random small plans: the verdict against exact evaluation on full shapes."""
        count = 500 if self.full else 60
        code, text = line.run(self.program("random_plans_campaign"), "--count", str(count), show=8,
                              timeout=3600)
        table = {name: int(number) for name, number in
                 re.findall(r"^((?:equal|different|undefined)\S*, [A-Z]+) +(\d+)$", text, re.M)}
        line.require(code == 0 and sum(table.values()) == count and
                     "false PROVED: 0, false REFUTED: 0" in text,
                     f"{count} plans, verdicts never contradict the evaluation: {table}")
        wrong = sum(number for name, number in table.items() if not name.startswith("equal"))
        line.require(wrong >= 0.45 * count, f"{wrong} of {count} are wrong")
        definite = ("equal, PROVED", "different, REFUTED")
        line.require(table and not set(table) - set(definite), "none is left UNKNOWN")
        if not self.full:
            line.open(f"a sample of {count}; 500 with --full")

    def users_operator(self, line):
        """A user's operator in a proof and in a refutation; errors with line and column."""
        folder = os.path.join(ROOT, "examples", "own_operator")
        declaration = os.path.join(folder, "squared_relu_linear.op")
        length = len(open(declaration, encoding="utf-8").read().splitlines())
        line.require(length <= 5, f"the declaration has {length} lines")
        for name, wanted in (("tp2.json", "PROVED"), ("tp2_broken.json", "REFUTED")):
            verdict, _, _ = self.verify(line, [os.path.join(folder, name)], "--operators",
                                        declaration)
            line.require(verdict == wanted, f"{name}: {verdict}")
        code, text = line.run(self.planproof, "verify", "--no-cache", os.path.join(folder, "tp2.json"),
                              "--operators", os.path.join(folder, "wrong.op"))
        line.require(code == 64 and re.search(r"wrong\.op:\d+:\d+: ", text),
                     "a wrong declaration: an error with line and column")
        line.tests("the same in tests", r"cli\.OwnOperator\..*", r"cli\..*WrongDeclarations\..*",
                   r"cli\.Verify\.AUsersOperatorIsUsedInAProofAndInARefutation",
                   r"sdfg\.Declaration\.ErrorsNamePlaceProblemAndExpectation")

    def hostile_input(self, line):
        """Truncated, corrupted, hostile inputs of each reader; fuzzing."""
        line.tests("hostile inputs", r"frontend\.PickleTest\..*", r"frontend\.PlanFormat\.Hostile.*",
                   r"frontend\.PlanFormat\.Truncated.*", r"sdfg\.Declaration\.MutatedDecl.*",
                   r"sdfg\.Declaration\.Deep.*", r"cli\.Usage\.Truncated.*", r"fuzz\..*",
                   r"cli\.Usage\.FileOfNoKnownFormat.*", r"cli\..*HostileInput.*")
        if not self.full:
            return line.open("the same under sanitizers, 10 minutes of fuzzing per reader: with --full")
        code, text = line.run("make", "--no-print-directory", "test-sanitize-core",
                              f"BUILD={self.build}", timeout=7200, show=0)
        passed = re.findall(r"\d+% tests passed.*", text)
        line.require(code == 0 and passed, f"under sanitizers: {passed[-1] if passed else text[-80:]}")
        code, text = line.run("make", "--no-print-directory", "fuzz", f"BUILD={self.build}",
                              "FUZZ_SECONDS=600", timeout=7200, show=0)
        runs = re.findall(r"^fuzz: (\w+) for 600 s$", text, re.M)
        targets = glob.glob(os.path.join(ROOT, "tests", "fuzz", "*_fuzz.cc"))
        return line.require(code == 0 and len(runs) == len(targets) > 0,
                            f"10 minutes each: {', '.join(runs)}")

    def workers(self, line):
        """Killed workers, time and memory limits cost an UNKNOWN by name, nothing else."""
        for plan in self.plans(line, lambda plan: plan["name"].startswith("Llama dp2")):
            _, _, whole = self.verify(line, self.files(plan))
            for kind, more in (("kill", []), ("sleep", ["--stage-timeout", "0.5"]),
                               ("alloc", ["--memory-limit", "64"])):
                verdict, text, report = self.verify(
                    line, self.files(plan), *more,
                    environment={"PLANPROOF_TEST_WORKER_FAULT": f"{kind}:norm"})
                stages = report.get("stages", {})
                named = re.search(r"^UNKNOWN: stage \S*norm", text)
                line.require(verdict == "UNKNOWN" and named and stages.get("unknown", 0) > 0,
                             f"{kind}: {verdict}, the stage is named")
                line.require(stages and whole and stages["proved"] + stages["unknown"] ==
                             whole["stages"]["total"], f"{kind}: the others are decided: {stages}")
        line.tests("the same on a small plan, and the pool alone",
                   r"cli\.Verify/WorkerFault\..*", r"stages\.ProcessPool\..*")

    def generated(self, line, preset, *options):
        """The files of a generated plan."""
        folder = os.path.join(self.scratch, "-".join([preset, *options]).replace("--", ""))
        code, _ = line.run(self.planproof, "generate", "--preset", preset, *options, "--output",
                           folder, show=0)
        line.require(code == 0, f"{preset} {' '.join(options)} is generated")
        return [os.path.join(folder, name) for name in ("logical.plan", "parallel.plan")]

    def remembering(self, line, files, cache):
        """Report of a run with the cache in this directory; no printing of its text."""
        path = os.path.join(self.scratch, "report.json")
        line.run(self.planproof, "verify", "-q", "--jobs", "2", "--cache", cache, "--json", path,
                 *files, show=0)
        with open(path, encoding="utf-8") as report:
            return json.load(report)

    def warm_cache(self, line):
        """Warm cache: evaluate and decide take at most 5 % of cold; a changed layer costs its classes."""
        cache = os.path.join(self.scratch, "cache")
        for preset in ("L3", "D3"):
            files = self.generated(line, preset, "--sequence-parallel")
            runs = {"cold": [], "warm": []}
            for _ in range(3):
                shutil.rmtree(cache, ignore_errors=True)
                for kind in ("cold", "warm"):
                    runs[kind].append(self.remembering(line, files, cache))
            median = {kind: {step: sorted(run["time_s"][step] for run in reports)[1]
                             for step in ("read", "check", "cut", "evaluate", "decide",
                                              "workers", "total")}
                      for kind, reports in runs.items()}
            # With the worker processes that it takes.
            work = {kind: time["evaluate"] + time["decide"] + time["workers"]
                    for kind, time in median.items()}
            last = runs["warm"][-1]
            line.require(all(run["verdict"] == "PROVED" for run in runs["cold"] + runs["warm"]) and
                         last["cache"]["hits"] == last["stages"]["classes"],
                         f"{preset}: PROVED, {last['cache']['hits']} of {last['stages']['classes']} "
                         "classes are known")
            line.require(work["warm"] <= 0.05 * work["cold"],
                         f"{preset}: evaluate and decide {1000 * work['cold']:.0f} ms cold ("
                         f"{1000 * median['cold']['workers']:.0f} ms of it for worker processes), "
                         f"{1000 * work['warm']:.1f} ms warm "
                         f"({100 * work['warm'] / work['cold']:.1f} %); cut with keys "
                         f"{median['warm']['cut']:.2f} s; whole run {median['cold']['total']:.2f} s "
                         f"cold, {median['warm']['total']:.2f} s warm "
                         f"({100 * median['warm']['total'] / median['cold']['total']:.0f} %)")
            changed = self.generated(line, preset, "--sequence-parallel", "--whole-sequence-layers",
                                     "5")
            report = self.remembering(line, changed, cache)
            counts, classes = report["cache"], report["stages"]["classes"]
            line.require(report["verdict"] == "PROVED" and 0 < counts["solved"] < classes / 4 and
                         counts["hits"] + counts["solved"] == classes,
                         f"{preset}, layer 5 without sequence parallelism: {report['verdict']}, "
                         f"{counts['hits']} classes known, {counts['solved']} solved")
            shutil.rmtree(cache, ignore_errors=True)
        line.tests("plans about which a cache could lie", r"cli\.CacheTest\.NeverLies.*",
                   r"cli\.CacheTest\.What.*", r"stages\.ClaimMemoryTest\..*",
                   r"stages\.ClassKeyTest\..*")

    def several_machines(self, line):
        """mpirun -n 3: the same verdicts; a lost rank leaves a report, --resume ends the run."""
        line.tests("three ranks on one machine", r"cli\.MpiTest\..*", r"cluster\..*")

    def killed_runs(self, line):
        """SIGKILL of the whole run, ten times; a cache truncated and bit-flipped in ten places each."""
        line.tests("runs and files", r"cli\.CacheTest\.AKilled.*", r"cli\.CacheTest\.ADamaged.*",
                   r"cli\.CacheTest\.RunsAtTheSameTime.*", r"verdict_cache\..*")

    def new_user(self, line):
        """Tried as a new user would: a plan by hand, broken, its report read, mended."""
        line.tests("the plan of docs/first-plan.md and its broken twins", r"cli\.FirstPlan\..*")
        line.by_hand("README.md, then docs/first-plan.md")


LINES = [Acceptance.new_machine, Acceptance.published_plans, Acceptance.budgets,
         Acceptance.catalogue, Acceptance.soundness_cases, Acceptance.contradictions,
         Acceptance.mutants, Acceptance.audit, Acceptance.small_plans, Acceptance.users_operator,
         Acceptance.hostile_input, Acceptance.workers, Acceptance.new_user,
         Acceptance.warm_cache, Acceptance.several_machines, Acceptance.killed_runs,
         *acceptance_at_scale.LINES, Acceptance.deviations,
         Acceptance.strategies, Acceptance.generated_bugs, *acceptance_folding.LINES,
         *acceptance_cliffs.LINES,
         *acceptance_inference.LINES]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--full", action="store_true", help="full counts: takes hours")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="these lines of the list")
    arguments = parser.parse_args()
    acceptance = Acceptance(arguments.build, arguments.full)
    lines = []
    for number, check in enumerate(LINES, 1):
        if arguments.only and number not in arguments.only:
            continue
        start = time.monotonic()
        line = Line(number, check.__doc__, ROOT, acceptance.build)
        check(acceptance, line)
        print(f"  => {line.verdict()} ({time.monotonic() - start:.0f} s)", flush=True)
        lines.append(line)
    shutil.rmtree(acceptance.scratch, ignore_errors=True)
    print("\nThe list:")
    for line in lines:
        print(f"  {line.number:>2} {line.verdict():<15} {line.title}")
        if line.verdict() != "holds":
            print(f"     {'':<15} {line.because()}")
    wrong = {"does not hold"} | ({"not shown"} if arguments.full else set())
    return 1 if any(line.verdict() in wrong for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
