#!/usr/bin/env python3
"""Random plans with schedules, collectives in flight and shared memory, against a simulation.

A plan of one to three programs gets random operators, phases, steps and buffers, operators that overwrite their
operand, and views of tensors. Its programs are simulated
step by step by the rules of docs/plan-format.md, "Order of execution"; the verdict must be PROVED where the simulation
ends and MALFORMED where it does not. Values play no part: the required output does not depend on the rest.

    random_schedules.py --planproof build/cli/planproof --count 3000 --seed 1
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter

VARIES, ONCE = "varies over the microbatch", "is one for all microbatches"
COMMUNICATE = ("move", "group", "reduce", "permute", "all_to_all")
# These read other elements of an operand than the one that they would overwrite; no rank may overwrite what others read.
NOT_IN_PLACE = ("flip", "permute", "all_to_all")


class Program:
    def __init__(self, number):
        self.name = f"p{number}"
        self.operators = []
        self.tensors = {"x": VARIES, "c": ONCE}
        self.phase = "A0"
        self.steps = None  # (phase, microbatch or None)
        self.buffers = {}  # tensor: (buffer, slots)

    def add(self, random_, **operator):
        if random_.random() < .45:
            self.phase = f"A{random_.randrange(4)}"
        self.operators.append({"phase": self.phase, "in": [], **operator})

    def phases(self):
        return list(dict.fromkeys(op["phase"] for op in self.operators))


class Plan:
    """Random operators; every name is defined before it is used, so that only the order of steps matters."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.microbatches = self.random.choice([2, 3])
        self.programs = [Program(p) for p in range(self.random.choice([1, 2, 2, 3]))]
        self.fresh = 0
        self.in_flight = []  # program, operator
        first = self.programs[0]
        first.add(self.random, kind="silu", **{"in": ["x"]}, out="y", varies=True)
        first.tensors["y"] = VARIES
        for _ in range(self.random.randint(4, 12)):
            self.add_operator()
        while self.in_flight:
            self.add_wait(0)
        for program in self.programs:
            self.add_steps(program)
            self.add_buffers(program)

    def name(self):
        self.fresh += 1
        return f"t{self.fresh}"

    def define(self, program, operator):
        """Appends the operator, which may be started only."""
        if operator["kind"] in COMMUNICATE and self.random.random() < .33:
            operator["async"] = "h" + operator["out"]
            self.in_flight.append((program, operator))
        else:
            program.tensors[operator["out"]] = VARIES if operator["varies"] else ONCE
        program.add(self.random, **operator)

    def add_wait(self, at):
        program, started = self.in_flight.pop(at)
        program.add(self.random, kind="wait", handle=started["async"], out=started["out"],
                    varies=started["varies"])
        program.tensors[started["out"]] = VARIES if started["varies"] else ONCE

    def add_operator(self):
        r = self.random
        if self.in_flight and r.random() < .4:
            return self.add_wait(r.randrange(len(self.in_flight)))
        program = r.choice(self.programs)
        kind = r.choice(["silu", "flip", "add", "accumulate", "move", "move", "group", "reduce", "permute",
                         "all_to_all", "inplace" if r.random() < .5 else "silu", "view", "clone"])
        names = list(program.tensors)
        others = [p for p in self.programs if p is not program]
        if kind in ("move", "group") and not others:
            return
        if kind == "group":
            return self.add_group()
        operator = {"kind": kind, "out": self.name()}
        if kind == "move":
            operator["sender"] = r.choice(others)
            operator["sent"] = r.choice(list(operator["sender"].tensors))
            operator["varies"] = operator["sender"].tensors[operator["sent"]] == VARIES
            if r.random() < .3:
                operator["channel"] = r.choice("ab")
        else:
            if kind == "accumulate":
                names = [t for t in names if program.tensors[t] == VARIES]
            operator["in"] = [r.choice(names) for _ in range(2 if kind == "add" else 1)]
            varies = any(program.tensors[t] == VARIES for t in operator["in"])
            operator["varies"] = varies and kind != "accumulate"
        self.define(program, operator)

    def add_group(self):
        r = self.random
        count = 2 if r.random() < .6 else len(self.programs)
        members = sorted(r.sample(self.programs, count), key=lambda p: p.name)
        wanted = r.choice([VARIES, VARIES, ONCE])
        operands = [r.choice([t for t in p.tensors if p.tensors[t] == wanted]) for p in members]
        meeting = tuple((p.name, t) for p, t in zip(members, operands))
        if any(op.get("meeting") == meeting for p in self.programs for op in p.operators):
            return
        for program, operand in zip(members, operands):
            self.define(program, {"kind": "group", "meeting": meeting, "in": [operand],
                                  "out": self.name(), "varies": wanted == VARIES})

    def add_steps(self, program):
        r = self.random
        phases = program.phases()
        if not phases or r.random() < .15:
            return
        once = {phase: r.random() < .35 for phase in phases}
        steps = []
        while phases:
            if once[phases[0]]:
                steps.append((phases.pop(0), None))
                continue
            run = [phases.pop(0)]  # phases that alternate
            while phases and not once[phases[0]] and r.random() < .5:
                run.append(phases.pop(0))
            steps += [(phase, m) for m in range(self.microbatches) for phase in run]
        for _ in range(r.choice([0, 0, 0, 1, 2, 5])):
            if len(steps) > 1:
                at = r.randrange(len(steps) - 1)
                steps[at], steps[at + 1] = steps[at + 1], steps[at]
        if r.random() < .04:
            steps.append(r.choice(steps))
        if r.random() < .04:
            steps.pop(r.randrange(len(steps)))
        program.steps = steps

    def add_buffers(self, program):
        r = self.random
        names = [op["out"] for op in program.operators if op["kind"] != "wait"]
        if not names or r.random() < .4:
            return
        for buffer in range(r.choice([1, 1, 2])):
            slots = r.choice([1, 1, 2, self.microbatches])
            chosen = r.sample(names, min(len(names), r.choice([1, 1, 2, 3])))
            if r.random() < .5:  # a result and what it is computed from
                made = r.choice([op for op in program.operators if op["kind"] != "wait"])
                chosen = [made["out"]] + made["in"][:1]
            for tensor in chosen:
                program.buffers.setdefault(tensor, (f"buffer{buffer}", slots))

    def json(self):
        programs = []
        for number, program in enumerate(self.programs):
            operators, phase = [], None
            for op in program.operators:
                kind = op["kind"]
                text = {"op": {"group": "all_reduce", "reduce": "all_reduce", "inplace": "relu",
                               "view": "identity"}.get(kind, kind)}
                text["in"] = {"wait": lambda: op["handle"], "move": lambda: f"{op['sender'].name}:{op['sent']}",
                              "group": lambda: [f"{p}:{t}" for p, t in op["meeting"]]}.get(
                                  kind, lambda: op["in"])()
                if kind != "wait":
                    text["out"] = op["out"]
                if kind in ("reduce", "permute", "all_to_all"):
                    text["over"] = "tp"
                text.update({"permute": {"shift": 1}, "all_to_all": {"split_dim": 1, "concat_dim": 1},
                             "flip": {"attrs": {"dims": [1]}},
                             "inplace": {"attrs": {"inplace": True}}}.get(kind, {}))
                for key in ("async", "channel"):
                    if key in op:
                        text[key] = op[key]
                if op["phase"] != phase:
                    phase = text["phase"] = op["phase"]
                operators.append(text)
            content = {"name": program.name, "devices": {"pp": number},
                       "inputs": {"x": {"0": "microbatch"}, "c": {}}, "operators": operators}
            if program.steps is not None:
                content["schedule"] = [p if m is None else f"{p}:{m}" for p, m in program.steps]
            content["buffers"] = {t: {"name": b, "slots": s} for t, (b, s) in program.buffers.items()}
            programs.append(content)
        return {"planproof": 1,
                "specification": {
                    "inputs": {"x": [2 * self.microbatches, 4], "c": [2, 4]},
                    "operators": [{"op": "silu", "in": "x", "out": "y"}],
                    "outputs": {"y": {"0": "microbatch"}}},
                "plan": {"mesh": {"pp": len(self.programs), "tp": 2},
                         "microbatches": self.microbatches, "programs": programs}}


class Fault(Exception):
    pass


class Simulation:
    """Runs the plan; Fault says what goes wrong."""

    def __init__(self, plan):
        self.plan = plan
        self.all = range(plan.microbatches)
        self.inputs = {("x", m) for m in self.all} | {("c", None)}
        self.memory = {p.name: self.memory_of(p) for p in plan.programs}
        self.events = {p.name: self.events_of(p) for p in plan.programs}  # operator, microbatch, step

    def run(self):
        computed = {p.name: self.check_reads(p) for p in self.plan.programs}
        self.check_progress()
        self.check_messages(computed)
        self.check_groups()
        for program in self.plan.programs:
            self.check_buffers(program)

    def events_of(self, program):
        steps = program.steps
        if steps is None:
            steps = [(None, None)]
        else:
            for phase in program.phases():
                runs = [m for p, m in steps if p == phase]
                if runs != [None] and (None in runs or sorted(runs) != list(self.all)):
                    raise Fault("not scheduled once")
        events, begun = [], set()
        for number, (phase, m) in enumerate(steps):
            for op in program.operators:
                if phase is not None and op["phase"] != phase:
                    continue
                if op["varies"]:
                    events += [(op, k, number) for k in (self.all if m is None else [m])]
                elif phase not in begun:
                    events.append((op, None, number))
            begun.add(phase)
        return events

    def memory_of(self, program):
        """Tensor: (memory, slots, whether it is a view), for those that share memory."""
        same = {}

        def root(tensor):
            while same.setdefault(tensor, tensor) != tensor:
                tensor = same[tensor]
            return tensor

        overwritten = [op["in"][0] for op in program.operators if op["kind"] == "inplace"]
        views = {op["out"] for op in program.operators
                 if op["kind"] == "view" and op["out"] not in program.buffers}
        for op in program.operators:
            if op["kind"] == "inplace" or op["out"] in views:
                same[root(op["out"])] = root(op["in"][0])
        memory = {t: (*where, False) for t, where in program.buffers.items()}
        for tensor in overwritten:
            group = [t for t in list(same) if root(t) == root(tensor)]
            stated = {program.buffers[t] for t in group if t in program.buffers}
            if len(stated) > 1:
                raise Fault("one memory, two buffers")
            where = stated.pop() if stated else ("memory of " + root(tensor), self.plan.microbatches)
            memory.update((t, (*where, t in views)) for t in group)
        return memory

    def read(self, program, op, m):
        """What the instance reads of its own program."""
        for tensor in op["in"]:
            if program.tensors[tensor] == ONCE:
                yield tensor, None
            elif op["varies"]:
                yield tensor, m
            else:
                yield from ((tensor, k) for k in self.all)

    def check_reads(self, program):
        """When every instance is there, and sent: step, place in the list, microbatch within the step."""
        there, begun = {(t, m): (-1, "xc".index(t), m or 0) for t, m in self.inputs}, set()
        listed = {id(op): number for number, op in enumerate(program.operators)}
        for op, m, step in self.events[program.name]:
            one = program.steps is not None and program.steps[step][1] is not None
            if any(instance not in there for instance in self.read(program, op, m)):
                raise Fault("read before it is computed")
            if op["kind"] == "wait" and (op["handle"], m) not in begun:
                raise Fault("waited for before it is started")
            if "async" in op:
                begun.add((op["async"], m))
            else:
                there[(op["out"], m)] = (step, listed[id(op)], 0 if one else m or 0)
        return there

    def check_progress(self):
        at = {name: 0 for name in self.events}
        there = {name: set(self.inputs) for name in self.events}
        arrived = Counter()
        started = {(p.name, op["async"]): op for p in self.plan.programs for op in p.operators
                   if "async" in op}
        issued = set()

        def ready(op, m):
            if op["kind"] == "move":
                return (op["sent"], m) in there[op["sender"].name]
            return op["kind"] != "group" or arrived[(op["meeting"], m)] == len(op["meeting"])

        moved = True
        while moved:
            moved = False
            for name, events in self.events.items():
                while at[name] < len(events):
                    op, m, _ = events[at[name]]
                    if op["kind"] == "group" and (name, at[name]) not in issued:
                        issued.add((name, at[name]))
                        arrived[(op["meeting"], m)] += 1
                        moved = True
                    waited = started[(name, op["handle"])] if op["kind"] == "wait" else op
                    if "async" not in op and not ready(waited, m):
                        break
                    if "async" not in op:
                        there[name].add((op["out"], m))
                    at[name] += 1
                    moved = True
        if any(at[name] < len(events) for name, events in self.events.items()):
            raise Fault("wait cycle")

    def check_messages(self, computed):
        last = {}
        for name, events in self.events.items():
            for op, m, _ in events:
                if op["kind"] != "move":
                    continue
                if op["sent"] in ("x", "c") and op["sent"] not in self.memory[op["sender"].name]:
                    continue  # sent when it is asked for
                sent = computed[op["sender"].name][(op["sent"], m)]
                key = (op["sender"].name, name, op.get("channel"))
                if sent < last.get(key, sent):
                    raise Fault("messages cross")
                last[key] = sent

    def check_groups(self):
        orders = {}
        for name, events in self.events.items():
            for op, m, _ in events:
                if op["kind"] == "group":
                    members = tuple(p for p, _ in op["meeting"])
                    orders.setdefault(members, {}).setdefault(name, []).append((op["meeting"], m))
        if any(len({tuple(order) for order in of.values()}) > 1 for of in orders.values()):
            raise Fault("collectives in different order")

    def check_buffers(self, program):
        memory = self.memory[program.name]
        holds, in_flight = {}, {}

        def slot(tensor, m):
            name, slots, _ = memory[tensor]
            return name, 0 if m is None else m % slots

        for tensor, m in sorted(self.inputs, key=str):
            if tensor in memory:
                if slot(tensor, m) in holds:
                    raise Fault("two inputs in one buffer")
                holds[slot(tensor, m)] = {(tensor, m)}
        for op, m, _ in self.events[program.name]:
            owned = [i for i in self.read(program, op, m) if i[0] in memory]
            if any(i not in holds.get(slot(*i), ()) for i in owned):
                raise Fault("read after it is overwritten")
            result = (op["out"], m)
            mine = slot(*result) if op["out"] in memory else None
            if op["kind"] == "wait":
                for flights in in_flight.values():
                    flights.discard((op["handle"], m))
            elif mine is not None and memory[op["out"]][2]:
                holds[mine].add(result)
                continue
            elif mine is not None and in_flight.get(mine):
                raise Fault("written in flight")
            elif mine is not None and op["kind"] in NOT_IN_PLACE:
                if any(i in holds.get(mine, ()) for i in owned):
                    raise Fault("overwritten while it is read")
            if mine is not None:
                holds[mine] = {result} if "async" not in op else set()
            if "async" in op:
                for used in [slot(*i) for i in owned] + ([mine] if mine else []):
                    in_flight.setdefault(used, set()).add((op["async"], m))
        if program.name == "p0" and "y" in memory:
            if any(("y", m) not in holds.get(slot("y", m), ()) for m in self.all):
                raise Fault("required output overwritten")


def expected(plan):
    try:
        Simulation(plan).run()
        return "fine"
    except Fault as fault:
        return str(fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planproof", required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seen, wrong = Counter(), 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "plan.json")
        for seed in range(options.seed, options.seed + options.count):
            plan = Plan(seed)
            why = expected(plan)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(plan.json(), file)
            ran = subprocess.run([options.planproof, "verify", "-q", "--no-cache", "--jobs", "1", path],
                                 capture_output=True, text=True, check=False)
            verdict = (ran.stdout or ran.stderr).split(":")[0]
            seen[why] += 1
            if verdict != ("PROVED" if why == "fine" else "MALFORMED"):
                wrong += 1
                print(f"seed {seed}: {ran.stdout}{ran.stderr}simulated: {why}\n{json.dumps(plan.json())}\n")
    for why, count in sorted(seen.items()):
        print(f"{count:6d} {why}")
    if options.count >= 100 and (len(seen) < 6 or seen["fine"] * 10 < options.count):
        print("too few kinds of plans")
        wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
