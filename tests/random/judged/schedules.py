"""The order of a program's instances: (operator, microbatch or None, step), from its list of operators and its
schedule.
"""
import re

import expressions
from tensors import Malformed

STEP = re.compile(r"([^:]+)(?::(.+))?")


def instances(program):
    plan = program.plan
    everything = range(plan.microbatches)
    if "schedule" not in program.content:
        return [(o, m, 0) for o in program.operators for m in (everything if _varies(program, o) else [None])]
    phases = list(dict.fromkeys(o.phase for o in program.operators))
    if None in phases:
        raise Malformed("a program with a schedule begins its first phase at its first operator")
    steps = list(_steps(program.content["schedule"], {"microbatches": plan.microbatches}, 0))
    for phase, _ in steps:
        if phase not in phases:
            raise Malformed(f"no phase {phase!r}")
    for phase in phases:
        runs = [m for p, m in steps if p == phase]
        if runs != [None] and sorted(r for r in runs if r is not None) != list(everything) or (
                None in runs and len(runs) > 1):
            raise Malformed(f"phase {phase!r} is not scheduled exactly once")
    result, begun = [], set()
    for number, (phase, m) in enumerate(steps):
        for operator in program.operators:
            if operator.phase != phase:
                continue
            if _varies(program, operator):
                result += [(operator, k, number) for k in (everything if m is None else [m])]
            elif phase not in begun:
                result.append((operator, None, number))
        begun.add(phase)
    return result


def _varies(program, operator):
    if operator.kind == "wait":
        from model import as_list
        return any("microbatch" in program.handles[h].axes for h in as_list(operator.content["in"]))
    return "microbatch" in operator.axes


def _steps(listed, variables, depth):
    if depth > 8:
        raise Malformed("loops are too deep")
    for step in listed:
        if isinstance(step, dict):
            low, high = (expressions.evaluate(step[k], variables) for k in ("from", "to"))
            for value in range(low, high):
                yield from _steps(step["do"], {**variables, step["for"]: value}, depth + 1)
            continue
        phase, microbatch = STEP.fullmatch(step).groups()
        if microbatch is None:
            yield phase, None
            continue
        low, dots, high = microbatch.partition("..")
        low = expressions.evaluate(low, variables)
        for m in range(low, expressions.evaluate(high, variables) if dots else low + 1):
            yield phase, m
