#!/usr/bin/env python3
"""Writes HTML reports, of hostile names and of 8,192 ranks too, and opens them in a browser.

    tests/report/check_pages.py PLANPROOF

Exit code 77, and nothing done, where no Chromium is installed (scripts/check_html.py).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "check_html.py")
sys.path.insert(0, os.path.dirname(CHECK))
from check_html import BROWSERS  # noqa: E402 (beside it, not installed)

EXAMPLES = ["examples/mlp_tp2.json", "examples/mlp_tp2_broken.json", "examples/daily/fsdp.json",
            "examples/llama_dp2_pp2_tp2_mb2_broken.json", "examples/pipeline_1f1b_broken.json",
            "examples/first_plan/missing_comma.json"]
MOST_BYTES = 20_000_000
ATTACK = "</script><img src=http://localhost/x onerror=\"document.title='taken over'\">"


def hostile(path):
    """examples/first_plan/missing_sum.json with names that are markup."""
    with open("examples/first_plan/missing_sum.json", encoding="utf-8") as file:
        text = file.read()
    plan = text.replace('"part"', json.dumps("part" + ATTACK)).replace('"y"', json.dumps("y" + ATTACK))
    plan = plan.replace('"grad.y"', json.dumps("grad.y" + ATTACK))
    with open(path, "w", encoding="utf-8") as file:
        file.write(plan)
    return path


def main():
    if not any(map(shutil.which, BROWSERS)):
        print("html: skipped, no Chromium is installed (apt-get install chromium)")
        return 77
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, "generate", "--preset", "L3", "--output", directory], check=True,
                       stdout=subprocess.DEVNULL)
        plans = [[example] for example in EXAMPLES]
        plans.append([hostile(os.path.join(directory, "hostile.json"))])
        plans.append([os.path.join(directory, name) for name in ("logical.plan", "parallel.plan")])
        pages = []
        for number, files in enumerate(plans):
            pages.append(os.path.join(directory, f"{number}.html"))
            subprocess.run([program, "verify", "-q", "--no-cache", *files, "--html", pages[-1]],
                           check=False, stdout=subprocess.DEVNULL)
            assert os.path.getsize(pages[-1]) < MOST_BYTES, files
        return subprocess.run([sys.executable, CHECK, *pages], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
