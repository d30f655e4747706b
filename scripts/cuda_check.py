#!/usr/bin/env python3
"""cuda_check.py BUILD: all that is to be checked on a machine with a GPU, in one command (make cuda-check).

The tests `Gpu.*`, then whole commands: counterexamples of the catalogue of bugs confirmed on the GPU, a Llama of
two layers on eight simulated ranks replayed. Ends with a line for each, and exit code 0 only if nothing failed.
Where there is no GPU it says so and does nothing. Needs nothing but BUILD and the sources: it runs without a network.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = ["float32", "bfloat16", "float8_e4m3"]
# Kinds of bugs with plans of the generator that have a place for them (docs/bugs.md).
LLAMA = "--model llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2"
KINDS = ["BR1", "BR5", "BR7", "BR8", "BR9", "BR10", "BR11", "BR12", "BR13", "BR14", "GG6", "TT4", "TT5", "TT7"]
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

    def catalogue(self, directory):
        plan = os.path.join(directory, "llama")
        self.run("generate", *LLAMA.split(), "--output", plan)
        files = [os.path.join(plan, name) for name in ("logical.plan", "parallel.plan")]
        confirmed = {dtype: 0 for dtype in TYPES}
        witnesses = 0
        for kind in KINDS:
            broken = os.path.join(directory, kind + ".plan")
            if self.run("mutate", *files, "--kind", kind, "-o", broken).returncode != 0:
                print(f"       {kind}: the plan has no place for it")
                continue
            report = os.path.join(directory, kind + ".json")
            on_gpu = self.run("verify", "--no-cache", broken, "--confirm", self.device, "--confirm-dtype",
                              ",".join(TYPES), "--json", report)
            on_cpu = self.run("verify", "--no-cache", broken, "--confirm", "cpu", "--confirm-dtype",
                              ",".join(TYPES), "--json", report + ".cpu")
            if on_gpu.returncode != 1 or on_cpu.returncode != 1:
                print(f"       {kind}: no counterexample")
                continue
            witnesses += 1
            with open(report) as there, open(report + ".cpu") as here:
                there, here = (json.load(file).get("confirmations", []) for file in (there, here))
            for one, other in zip(there, here):
                print(f"       {kind}: {one['text']}")
                confirmed[one["dtype"]] += one["confirmed"]
                # Narrow types may hide a bug, there as here.
                same = one["confirmed"] == other["confirmed"] and (one["device"] == "cpu") == (self.device == "cpu")
                if not same or (one["dtype"] == "float32" and not one["confirmed"]):
                    self.say(f"{kind} in {one['dtype']}", False, f"on the CPU: {other['text']}")
        counts = ", ".join(f"{count} in {dtype}" for dtype, count in confirmed.items())
        self.say("catalogue", witnesses > 0, f"{witnesses} counterexamples; confirmed {counts}")

    def replay(self, directory):
        plan = os.path.join(directory, "replay")
        self.run("generate", *REPLAY.split(), "--output", plan)
        files = [os.path.join(plan, name) for name in ("logical.plan", "parallel.plan")]
        for dtype in TYPES:
            start = time.monotonic()
            answer = self.run("replay", "--device", self.device, "--dtype", dtype, *files)
            seconds = time.monotonic() - start
            print("       " + answer.stdout.strip().replace("\n", "\n       ") + answer.stderr)
            self.say(f"Llama of 2 layers on 8 ranks in {dtype}",
                     answer.returncode == 0 and not answer.stderr and seconds < REPLAY_SECONDS,
                     f"{seconds:.2f} s of {REPLAY_SECONDS}")


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
