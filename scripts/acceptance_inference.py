"""Lines of the acceptance list about relations that nobody states: inferred where a plan's own are
thrown away, within a few times the proof; certificates; strategies without lineage."""
import glob
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure_memory import peak_mebibytes  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRESETS = ("L1", "L2", "L3", "D1", "D2", "D3")
TIMES, MEMORY, SECONDS = 5, 3, 10
LEAST = 0.05  # seconds: less is the program's start


def measured(acceptance, line, files, *arguments):
    """Verdict, report, median seconds of three and MiB."""
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        verdict, _, report = acceptance.verify(line, files, *arguments, show=0)
        seconds.append(time.monotonic() - start)
    memory = peak_mebibytes([acceptance.planproof, "verify", "--no-cache", "-q", *arguments, *files])
    return verdict, report, statistics.median(seconds), memory


def plans(acceptance, line):
    for plan in acceptance.plans(line):
        yield plan["name"], acceptance.files(plan)
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.json")) +
                       glob.glob(os.path.join(ROOT, "examples", "daily", "*.json"))):
        if "broken" not in path:
            yield os.path.relpath(path, ROOT), [path]
    for preset in PRESETS:
        directory = os.path.join(acceptance.scratch, f"infer-{preset}")
        line.run(acceptance.planproof, "generate", "--preset", preset, "--output", directory, show=0)
        yield preset, [os.path.join(directory, name) for name in ("logical.plan", "parallel.plan")]


def discarded(acceptance, line):
    """Lineage thrown away, inferred and PROVED: <= 5 times the time of the proof, 3 times the memory."""
    for name, files in plans(acceptance, line):
        verdict, _, stated_s, stated_mib = measured(acceptance, line, files)
        line.require(verdict == "PROVED", f"{name} with lineage: {verdict}")
        verdict, report, seconds, mebibytes = measured(acceptance, line, files, "--discard-lineage")
        counts = report.get("inference", {})
        print(f"    {name}: {verdict} {seconds:.2f} s (with lineage {stated_s:.2f}), {mebibytes:.0f} MiB "
              f"({stated_mib:.0f}); {counts.get('tensors')} tensors, {counts.get('inferred')} inferred, "
              f"{counts.get('proved')} proved", flush=True)
        line.require(verdict == "PROVED", f"{name}: {verdict}")
        limit = max(TIMES * stated_s, LEAST)
        line.require(seconds <= limit, f"{name}: {seconds:.2f} s, limit {limit:.2f}")
        line.require(mebibytes <= max(MEMORY * stated_mib, 64), f"{name}: {mebibytes:.0f} MiB")
        if name in ("L3", "D3"):
            line.require(seconds <= SECONDS, f"{name}: {seconds:.2f} s")


def certificates(acceptance, line):
    """The certificate of each is enough for a proof without inference."""
    path = os.path.join(acceptance.scratch, "certificate.json")
    for name, files in plans(acceptance, line):
        verdict, _, _ = acceptance.verify(line, files, "--discard-lineage", "--certificate-out", path, show=0)
        line.require(verdict == "PROVED", f"{name}: {verdict}")
        verdict, _, report = acceptance.verify(line, files, "--discard-lineage", "--no-infer",
                                               "--certificate", path, show=0)
        print(f"    {name}: {verdict}, infer {report['time_s']['infer']:.3f} s", flush=True)
        line.require(verdict == "PROVED", f"{name} by its certificate: {verdict}")


def strategies(acceptance, line):
    """Every strategy's plan without lineage; with --full 10 mutants of each."""
    campaign = os.path.join(acceptance.build, "tests", "models", "strategies_campaign")
    mutants = "10" if acceptance.full else "0"
    code, _ = line.run(campaign, "--discard-lineage", "--mutants", mutants, "--first", "3100000",
                       "--shift", "10", timeout=14400, show=3)
    line.require(code == 0, f"exit code {code}")
    if not acceptance.full:
        line.open("mutants of the strategies' plans: with --full")


def handwritten(acceptance, line):
    """Plans as people write them (tests/python/plans), without lineage: each PROVED in under 1 s."""
    program = os.path.join(ROOT, "tests", "python", "verify_plans.py")
    code, output = line.run(sys.executable, program, "--seconds", "1", show=0, environment={
        "PLANPROOF_BINARY": acceptance.planproof, "PYTHONPATH": os.path.join(ROOT, "python")})
    for row in output.strip().splitlines():
        print("    " + row, flush=True)
    line.require(code == 0, f"exit code {code}")


def special_values(acceptance, line):
    """1,200 wrong plans that are right on many inputs: none PROVED, each right twin PROVED."""
    tests = os.path.join(acceptance.build, "tests", "soundness_cases", "soundness_cases_tests")
    code, output = line.run(tests, "--gtest_filter=*SpecialValues*", show=1,
                            environment={"PLANPROOF_SPECIAL_VALUES": "all"})
    tried = sum(int(number) for number in re.findall(r"^(\d+) wrong plans$", output, re.MULTILINE))
    line.require(code == 0 and tried >= 1000, f"exit code {code}, {tried} wrong plans")


def wheel(acceptance, line):
    """pip install . into a fresh environment, everything compiled for it; then docs/python.md."""
    code, output = line.run(os.path.join(ROOT, "scripts", "check_wheel.sh"), timeout=1800, show=3)
    line.require(code == 0 and "SKIPPED" not in output, f"exit code {code}")


LINES = [discarded, handwritten, certificates, special_values, strategies, wheel]
