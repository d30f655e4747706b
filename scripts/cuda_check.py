#!/usr/bin/env python3
"""cuda_check.py BUILD: all that is to be checked on a machine with a GPU, in one command (make cuda-check).

The tests `Gpu.*`, then whole commands: counterexamples of all of docs/bugs.md confirmed on the GPU, a Llama of
two layers on eight simulated ranks replayed. Ends with a line for each, and exit code 0 only if nothing failed.
Where there is no GPU it says so and does nothing. Needs nothing but BUILD and the sources: it runs without a network.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = ["float32", "bfloat16", "float8_e4m3", "float8_e5m2"]
JOBS = max(1, min(4, (os.cpu_count() or 1) // 2))
REPLAY = ("--model llama3-8b --layers 2 --hidden 256 --feed-forward 512 --heads 8 --key-value-heads 4 "
          "--vocabulary 1024 --sequence 128 --dp 2 --tp 2 --pp 2 --microbatches 2")
REPLAY_SECONDS = 5


class Check:
    def __init__(self, build, device):
        self.device = device
        self.program = os.path.join(build, "cli/planproof")
        self.tests = os.path.join(build, "tests/runtime_check/runtime_check_tests")
        self.failed = 0

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True)

    def say(self, name, passed, text=""):
        self.failed += not passed
        print(f"{'ok    ' if passed else 'FAILED'} {name}{': ' if text else ''}{text}", flush=True)

    def has_gpu(self):
        if self.device == "cpu":
            return True
        plan = os.path.join(ROOT, "examples/mlp_tp2.json")
        answer = self.run("replay", "--device", "cuda", "--quiet", plan)
        if not answer.stderr and answer.returncode == 0:
            return True
        print("cuda-check: skipped: " + (answer.stderr or answer.stdout).strip())
        return False

    def unit_tests(self):
        answer = subprocess.run([self.tests, "--gtest_filter=Gpu.*"])
        self.say("tests Gpu.*", answer.returncode == 0)

    def of_row(self, directory, row, options):
        """Confirmations of a row's counterexample: there, on the CPU; None if there is none."""
        plan = os.path.join(directory, row)
        self.run("generate", "--model", *options.split(), "--output", plan)
        files = [os.path.join(plan, name) for name in ("logical.plan", "parallel.plan")]
        broken = os.path.join(directory, row + ".plan")
        self.run("mutate", *files, "--kind", row, "-o", broken)
        found = []
        for device in (self.device, "cpu"):
            report = os.path.join(directory, f"{row}.{device}.json")
            answer = self.run("verify", "--no-cache", broken, "--confirm", device, "--confirm-dtype", ",".join(TYPES),
                              "--json", report)
            if answer.returncode != 1:
                return None
            with open(report, encoding="utf-8") as file:
                found.append(json.load(file).get("confirmations", []))
        return found

    def catalogue(self, directory):
        """The counterexample of each row of docs/bugs.md that is refuted on a generated plan."""
        page = os.path.join(ROOT, "docs/bugs.md")
        with open(page, encoding="utf-8") as file:
            rows = dict(re.findall(r"^\| (\S+) \| [^|]* \| `([^`]*)` \| REFUTED \|", file.read(), re.MULTILINE))
        confirmed = {dtype: 0 for dtype in TYPES}
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            of_rows = list(pool.map(lambda row: self.of_row(directory, row, rows[row]), rows))
        for row, found in zip(rows, of_rows):
            if found is None or [len(part) for part in found] != [len(TYPES)] * 2:
                self.say(row, False, "no counterexample")
                continue
            for there, here in zip(*found):
                print(f"       {row}: {there['text']}")
                confirmed[there["dtype"]] += there["confirmed"]
                # Narrow types may hide a bug, there as here.
                same = there["confirmed"] == here["confirmed"] and (there["device"] == "cpu") == (self.device == "cpu")
                if not same or (there["dtype"] == "float32" and not there["confirmed"]):
                    self.say(f"{row} in {there['dtype']}", False, f"on the CPU: {here['text']}")
        counts = ", ".join(f"{count} in {dtype}" for dtype, count in confirmed.items())
        self.say("catalogue", len(rows) > 20, f"{len(rows)} rows; confirmed {counts}")

    def replay(self, directory):
        plan = os.path.join(directory, "replay")
        self.run("generate", *REPLAY.split(), "--output", plan)
        files = [os.path.join(plan, name) for name in ("logical.plan", "parallel.plan")]
        for dtype in ["float64", *TYPES]:
            # Narrow types are replayed in float64, too, which takes as long again.
            for options, most in (["--no-exact"], REPLAY_SECONDS), ([], 2 * REPLAY_SECONDS):
                if dtype == "float64" and not options:
                    continue
                start = time.monotonic()
                answer = self.run("replay", "--device", self.device, "--dtype", dtype, *options, *files)
                seconds = time.monotonic() - start
                print("       " + answer.stdout.strip().replace("\n", "\n       ") + answer.stderr)
                self.say(f"Llama of 2 layers on 8 ranks in {dtype}{'' if options or dtype == 'float64' else ' and float64'}",
                         answer.returncode == 0 and not answer.stderr and seconds < most, f"{seconds:.2f} s of {most}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try this script")
    arguments = parser.parse_args()
    check = Check(arguments.build, arguments.device)
    if not check.has_gpu():
        return 0
    check.unit_tests()
    with tempfile.TemporaryDirectory() as directory:
        check.catalogue(directory)
        check.replay(directory)
    print(f"cuda-check: {'passed' if check.failed == 0 else f'{check.failed} checks failed'}")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
