#!/usr/bin/env python3
"""Random plans that read constant indices, with every engine, against an evaluation in exact numbers.

A model of a few operators (slices, single elements, expansions, concatenations, margins, reversals, permutations, sums,
means, products, contractions) gets a plan on one to three ranks that computes it otherwise: piece by piece, element by
element, in shards, backwards, with inputs held in parts, with one rank going its own way. In every second plan one
constant, operand or operator is another one; in half of them intermediate tensors have lineage. The judge reads the file and
evaluates both graphs at random integers in exact fractions. Every engine must say PROVED where they agree and REFUTED
where they do not; --engine smt alone may be UNKNOWN, which is counted.

    constant_index_plans.py --planproof build/cli/planproof --right 2000 --wrong 2000 --seed 1
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from constant_index_generator import plan_file
from exact_evaluation import PlanJudge

ENGINES = ["hybrid", "smt", "audit"]
VERDICTS = {0: "PROVED", 1: "REFUTED", 2: "MALFORMED", 3: "UNKNOWN"}


def verdict(planproof, engine, path):
    run = subprocess.run([planproof, "verify", "-q", "--no-cache", "--jobs", "1", "--engine", engine, path],
                         capture_output=True, text=True)
    return VERDICTS.get(run.returncode, f"exit code {run.returncode}"), run.stdout + run.stderr


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        self.directory = arguments.keep or tempfile.mkdtemp()
        os.makedirs(self.directory, exist_ok=True)
        self.table = {truth: {engine: Counter() for engine in ENGINES} for truth in ("right", "wrong")}
        self.lineage = Counter()
        self.faults = []

    def try_seed(self, seed, wanted):
        """Seed, truth (None: the generator failed), lineage, results by engine (None: not wanted), path."""
        file = plan_file(seed)
        try:
            right = PlanJudge(file).right(seed)
        except (ValueError, IndexError, ZeroDivisionError, KeyError) as error:
            return seed, None, False, repr(error), ""
        if right not in wanted:
            return seed, right, False, None, ""
        path = os.path.join(self.directory, f"plan{seed}.json")
        with open(path, "w") as out:
            json.dump(file, out, indent=1)
        results = {engine: verdict(self.arguments.planproof, engine, path) for engine in ENGINES}
        return seed, right, "lineage" in file["plan"]["programs"][0], results, path

    def count(self, seed, right, lineage, results, path):
        truth = "right" if right else "wrong"
        wanted = "PROVED" if right else "REFUTED"
        self.lineage[truth] += lineage
        said = {engine: results[engine][0] for engine in ENGINES}
        for engine in ENGINES:
            self.table[truth][engine][said[engine]] += 1
        faults = [f"{engine} says {said[engine]}" for engine in ENGINES if said[engine] not in (wanted, "UNKNOWN")]
        if said["audit"] != said["hybrid"]:
            faults.append(f"audit says {said['audit']}, the default engine {said['hybrid']}")
        if any("engines contradict" in text for _, text in results.values()):
            faults.append("engines contradict one another")
        if faults:
            self.faults.append(f"seed {seed}: {truth}; {'; '.join(faults)}")
        elif "UNKNOWN" in said.values() and self.arguments.verbose:
            print(f"seed {seed}: {truth}; {said}", flush=True)
        if not faults and not (self.arguments.keep and "UNKNOWN" in said.values()):
            os.unlink(path)

    def run(self):
        left = {True: self.arguments.right, False: self.arguments.wrong}
        seed = self.arguments.seed
        with ThreadPoolExecutor(self.arguments.jobs) as pool:
            while any(left.values()) and len(self.faults) <= 20:
                wanted = {truth for truth, n in left.items() if n > 0}
                batch = range(seed, seed + 8 * self.arguments.jobs)
                seed = batch.stop
                for result in pool.map(lambda k: self.try_seed(k, wanted), batch):
                    number, right, _, results, path = result
                    if right is None:
                        self.faults.append(f"seed {number}: the generator: {results}")
                    elif results is not None and left[right] > 0:
                        left[right] -= 1
                        self.count(*result)
                    elif results is not None:
                        os.unlink(path)
        self.report(seed)

    def report(self, next_seed):
        print(f"seeds {self.arguments.seed} to {next_seed - 1}")
        names = ["PROVED", "REFUTED", "UNKNOWN", "MALFORMED"]
        for truth, engines in self.table.items():
            for engine, counts in engines.items():
                row = ", ".join(f"{counts[name]} {name}" for name in names if counts[name])
                print(f"  {truth:5} {engine:6} {row}")
            print(f"  {truth:5} with lineage: {self.lineage[truth]}")
        for fault in self.faults:
            print("FAULT", fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planproof", required=True)
    parser.add_argument("--right", type=int, default=20)
    parser.add_argument("--wrong", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="directory for the plans of faults and UNKNOWN")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--print", type=int, metavar="SEED", help="print the plan of a seed, and do nothing else")
    arguments = parser.parse_args()
    if arguments.print is not None:
        print(json.dumps(plan_file(arguments.print), indent=1))
        return 0
    campaign = Campaign(arguments)
    campaign.run()
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
