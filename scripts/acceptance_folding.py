"""Lines of the acceptance list about plans that spell every rank out (lineage/folding)."""
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDEN = os.path.join(ROOT, "tests", "frontend", "widen_nnscaler_plan.py")
GPT = "gpt_mgener_dp1_pp1_tp{}_nm1_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl"
# Degree, what else grows with it, seconds.
DEGREES = [(8, [], 1), (16, [], 4), (32, ["--batch", "32", "--heads", "32"], 4)]


def many_ranks(acceptance, line):
    """GPT with tp 8 (1,544 operators) is PROVED in <= 1 s, with tp 16 and 32 in <= 4 s."""
    pair = [os.path.join(acceptance.data, GPT.format(degree)) for degree in (1, 2)]
    if not all(os.path.exists(path) for path in pair):
        return line.open(f"the published GPT plans are not in {acceptance.data}")
    for degree, more, limit in DEGREES:
        directory = os.path.join(acceptance.scratch, f"gpt{degree}")
        subprocess.run([sys.executable, WIDEN, *pair, "--tp", str(degree), "--out", directory, *more],
                       check=True)
        files = [os.path.join(directory, name) for name in ("logical.pkl", f"tp{degree}.pkl")]
        times = []
        for _ in range(3):
            start = time.monotonic()
            verdict, _, report = acceptance.verify(line, files, show=0)
            times.append(time.monotonic() - start)
        operators = report.get("operators", {})
        line.require(verdict == "PROVED" and operators["covered"] == operators["parallel"],
                     f"tp {degree}: {verdict}, {operators}")
        line.require(sorted(times)[1] <= limit, f"tp {degree}: {sorted(times)[1]:.2f} s, limit {limit}")
    return None


def explicit_plans(acceptance, line):
    """2,000 random plans that spell ranks out: folded forms give all instances back, equal verdicts."""
    count = 2000 if acceptance.full else 100
    code, text = line.run(acceptance.program("explicit_plans_campaign"), "--count", str(count),
                          timeout=7200, show=6)
    line.require(code == 0 and not re.search("DIFFERS", text), f"{count} plans: exit code {code}")
    if not acceptance.full:
        line.open("2,000 plans: with --full")


LINES = [many_ranks, explicit_plans]
