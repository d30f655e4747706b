#!/usr/bin/env python3
"""What replays find, and what they raise false alarms on: the tables of docs/replay.md.

    scripts/measure_replay.py PLANPROOF [--plans 200] [--seed 1000] [--bug-seeds 1] [--types float32,bfloat16] [--jobs 2]

Right plans are generated at random: models, sizes and degrees from --seed on. Wrong ones are the bugs of
docs/bugs.md that `verify` refutes, each on random inputs (seeds from 0) and on the witness that `verify` found; that
plan without its bug is replayed on the same witness. Everything runs twice: as a whole and with --by-stage.

A tensor alarms if its ratio to expected rounding is above the bound in the type, or in float64 on the same inputs;
the two are judged together ("either") and each by itself. Beside them three fixed tolerances are judged: a tensor
alarms where its relative error |plan - model| / |model| (Frobenius norm), in the type, is above it. A bug is found if
any tensor alarms, and at its place if the tensor that alarms and that the model computes first is of the stage that
`verify` names.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

TYPES = ["float64", "float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"]
TOLERANCES = [1e-5, 1e-3, 1e-2]
JUDGES = ["either", "type", "float64"] + [f"rtol {rtol:g}" for rtol in TOLERANCES]
MODES = ["whole", "by stage"]


def run(planproof, *arguments):
    return subprocess.run([planproof, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


def bugs(page):
    """Row, options of the plan and stage of each bug that is refuted on a generated plan."""
    for line in open(page, encoding="utf-8"):
        row = re.match(r"\| (\S+) \| [^|]* \| `([^`]*)` \| REFUTED \|", line)
        if row:
            yield row.group(1), row.group(2)


def random_plan(seed):
    """Options of a plan that may exist: sizes other than the models' own, degrees up to 4."""
    choose = random.Random(seed)
    model = choose.choice(["llama-tiny", "gpt-tiny", "qwen-tiny", "deepseek-tiny"])
    options = ["--model", model, "--layers", str(choose.choice([1, 1, 1, 3]))]
    degree = {name: choose.choice([1, 1, 2, 3, 4]) for name in ("dp", "tp", "cp")}
    degree["pp"] = choose.choice([1, 1, 2])
    degree["microbatches"] = choose.choice([1, 1, 2, 3])
    if choose.random() < 0.5:
        heads = choose.choice([4, 8, 12])
        options += ["--heads", str(heads), "--hidden", str(heads * choose.choice([2, 4, 6]))]
        options += ["--key-value-heads", str(heads)] if model in ("llama-tiny", "qwen-tiny") else []
    if choose.random() < 0.5:
        options += ["--sequence", str(choose.choice([12, 24]))]
    if choose.random() < 0.3:
        options += ["--vocabulary", str(choose.choice([48, 96, 120]))]
    for name, value in degree.items():
        options += ["--" + name, str(value)] if value > 1 else []
    for option, chance in (("--sequence-parallel", 0.3), ("--recompute", 0.2), ("--ring", 0.2), ("--zigzag", 0.2)):
        options += [option] if choose.random() < chance else []
    if degree["dp"] > 1 and choose.random() < 0.5:
        options += ["--zero", str(choose.choice([1, 2, 3]))]
    if model == "deepseek-tiny" and degree["dp"] == 2 and choose.random() < 0.5:
        options += ["--dispatch", "--ep", "2"]
    if choose.random() < 0.3:
        options += ["--sequences", "2"]
    if choose.random() < 0.3:
        options += ["--step", str(choose.choice([2, 10, 1000]))]
    return options


def part_of_bound(measure):
    return math.inf if measure["ratio"] is None else measure["ratio"] / measure["bound"]


def alarms_of(tensor, judge):
    if judge == "either":
        return tensor["finding"] != "none"
    if judge == "type":
        return tensor.get("alarms_in_type", tensor["finding"] != "none")
    if judge == "float64":
        return "exact" in tensor and tensor["exact"]["alarms"]
    # null: infinite, or NaN
    return tensor["error"] is None or tensor["error"] > float(judge.split()[1])


class Tally:
    """Of one kind of replays."""

    def __init__(self):
        self.replays = self.tensors = self.blind = 0
        self.alarms, self.tensor_alarms, self.at_place, self.alone = (collections.Counter() for _ in range(4))
        self.worst = {"type": (0.0, ""), "float64": (0.0, "")}
        self.missed, self.elsewhere = collections.defaultdict(list), []
        self.alarmed = collections.Counter()  # right plans and their tensors
        self.at_stage = {}  # by bug: ratio / bound of the stage that verify names, in the type and in float64

    def add(self, report, name, stage=None):
        self.replays += 1
        self.tensors += len(report["tensors"])
        self.blind += report["blind"]
        for tensor in report["tensors"]:
            for judge, measure in (("type", tensor), ("float64", tensor.get("exact"))):
                if measure is not None:
                    worst = (part_of_bound(measure), f"{name}: {tensor['tensor']}")
                    self.worst[judge] = max(self.worst[judge], worst)
        if stage is not None:
            of_stage = [tensor for tensor in report["tensors"] if tensor["logical"] == stage]
            self.at_stage[name] = (max(map(part_of_bound, of_stage), default=0),
                                   max((part_of_bound(tensor.get("exact", tensor)) for tensor in of_stage), default=0))
        for judge in JUDGES:
            alarms = [tensor for tensor in report["tensors"] if alarms_of(tensor, judge)]
            alarms = [tensor["logical"] for tensor in sorted(alarms, key=lambda tensor: tensor["model_order"])]
            self.alarms[judge] += bool(alarms)
            self.tensor_alarms[judge] += len(alarms)
            if stage is None:
                if alarms and judge == "either":
                    self.alarmed[name, alarms[0]] += 1
            elif not alarms:
                self.missed[judge].append(name)
            else:
                self.at_place[judge] += alarms[0] == stage
                self.alone[judge] += all(logical == stage for logical in alarms)
                if judge == "either" and alarms[0] != stage:
                    self.elsewhere.append(f"{name} ({alarms[0]}, not {stage})")


def replay(planproof, files, dtype, mode, inputs):
    done = run(planproof, "replay", *files, "--dtype", dtype, "--json", "-", *inputs,
               *(["--by-stage"] if mode == "by stage" else []))
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def replays(planproof, files, types, inputs, kind, name, stage=None):
    """(key of the tally, report, name, stage) of the plan in all types and modes."""
    for dtype in types:
        for mode in MODES:
            report, error = replay(planproof, files, dtype, mode, inputs)
            if "--work-limit" in error:
                return
            yield (kind, dtype, mode), report, error, name, stage


def right_plan(planproof, types, seed):
    with tempfile.TemporaryDirectory() as directory:
        options = random_plan(seed)
        if run(planproof, "generate", *options, "--output", directory).returncode != 0:
            return None
        files = [f"{directory}/logical.plan", f"{directory}/parallel.plan"]
        inputs = ["--seed", str(seed)]
        inputs += ["--work-limit", "2e8"]  # many small plans rather than few large ones
        return list(replays(planproof, files, types, inputs, "right", " ".join(options))) or None


def bug(planproof, types, seeds, kind, options):
    with tempfile.TemporaryDirectory() as directory:
        files = [f"{directory}/logical.plan", f"{directory}/parallel.plan"]
        broken, witness = f"{directory}/broken.plan", f"{directory}/w.safetensors"
        run(planproof, "generate", "--model", *options.split(), "--output", directory)
        run(planproof, "mutate", *files, "--kind", kind, "-o", broken)
        verified = run(planproof, "verify", "-q", "--no-cache", broken, "--witness-out", witness)
        stage = re.match(r"REFUTED: stage (\S+):", verified.stdout)
        if stage is None:
            sys.exit(f"{kind}: {verified.stdout}{verified.stderr}")
        found = []
        for seed in range(seeds):
            name = f"{kind}, seed {seed}" if seed else kind
            found += replays(planproof, [broken], types, ["--seed", str(seed)], "bug, random", name, stage.group(1))
        found += replays(planproof, [broken], types, ["--witness", witness], "bug, witness", kind, stage.group(1))
        return found + list(replays(planproof, files, types, ["--witness", witness], "right, witness", kind))


def rows(tallies, kind, types):
    for dtype in types:
        for mode in MODES:
            if (kind, dtype, mode) in tallies:
                yield dtype, mode, tallies[kind, dtype, mode]


def table(tallies, kind, types):
    is_bug = kind.startswith("bug")
    more = ["first at its place", "no other stage"] if is_bug else ["largest ratio / bound", "in float64"]
    print(f"\n### {kind}\n")
    print("| " + " | ".join(["type", "", *JUDGES, *more, "blind"]) + " |")
    print("| --- | --- |" + " ---: |" * (len(JUDGES) + 3))
    for dtype, mode, of in rows(tallies, kind, types):
        if is_bug:
            counts = [f"{of.alarms[judge]}, {of.at_place[judge]}" for judge in JUDGES]
            more = f"{of.at_place['either']} | {of.alone['either']}"
        else:
            counts = [f"{of.alarms[judge]} ({of.tensor_alarms[judge]})" for judge in JUDGES]
            more = f"{of.worst['type'][0]:.2f} | {of.worst['float64'][0]:.2f}"
        print(f"| {dtype} | {mode} | " + " | ".join(counts) + f" | {more} | {of.blind} |")
    some = tallies[kind, types[0], MODES[0]]
    print(f"\n{some.replays} replays of {some.tensors} tensors for each type; "
          + ("bugs that are found, of them first at their place" if is_bug else "plans (tensors) that alarm"))
    for dtype, mode, of in rows(tallies, kind, types):
        for judge in ("either", "type", "float64"):
            if is_bug and of.missed[judge]:
                print(f"not found in {dtype}, {mode}, by {judge}: {' '.join(of.missed[judge])}")
        if of.elsewhere:
            print(f"first elsewhere in {dtype}, {mode}: {', '.join(of.elsewhere)}")
        if not is_bug and of.alarms["either"]:
            print(f"alarms in {dtype}, {mode}: " + "; ".join(f"{name}: {first}" for name, first in of.alarmed))


def ratios(tallies, kind, types):
    """By bug the ratio / bound of its stage, by stage: in the type, and in float64."""
    print(f"\n### {kind}: ratio / bound at the stage of verify, by stage: in the type, in float64\n")
    print("| bug | " + " | ".join(types) + " |\n| --- |" + " ---: |" * len(types))
    for name in tallies[kind, types[0], "by stage"].at_stage:
        cells = []
        for dtype in types:
            pair = tallies[kind, dtype, "by stage"].at_stage.get(name)
            cells.append("" if pair is None else f"{pair[0]:.2g}, {pair[1]:.2g}")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planproof")
    parser.add_argument("--plans", type=int, default=200, help="right plans on random inputs")
    parser.add_argument("--seed", type=int, default=1000, help="of the first of them")
    parser.add_argument("--bug-seeds", type=int, default=1, help="random inputs for each bug")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    types = arguments.types.split(",")
    page = os.path.join(os.path.dirname(__file__), "..", "docs", "bugs.md")
    tallies, refused = collections.defaultdict(Tally), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        work = [pool.submit(bug, arguments.planproof, types, arguments.bug_seeds, *row) for row in bugs(page)]
        made, seed = 0, arguments.seed
        while work or made < arguments.plans:
            while made + len(work) < arguments.plans and len(work) < 4 * arguments.jobs:
                work.append(pool.submit(right_plan, arguments.planproof, types, seed))
                seed += 1
            result = work.pop(0).result()
            if result is None:
                continue  # no such plan
            made += result[0][0][0] == "right"
            for key, report, error, name, stage in result:
                if report is None:
                    refused[key + (error,)] += 1
                else:
                    tallies[key].add(report, name, stage)
    print(f"right plans: seeds {arguments.seed} to {seed - 1}, of which {made} are plans")
    for kind in sorted({key[0] for key in tallies}):
        table(tallies, kind, types)
        if kind.startswith("bug"):
            ratios(tallies, kind, types)
    for key, times in sorted(refused.items()):
        print("could not be run:", *key, f"({times} times)")


if __name__ == "__main__":
    main()
