"""Lines of the program that wrote the operators which a finding names."""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from planproof.plan import Plan
from planproof.program import Program
from planproof.report import Report, Violation

_SHOWN = 4  # lines in the text; the data have all


def with_origins(report: Report, plan: Plan) -> Report:
    """The report with the lines of the operators of each finding, below the row `parallel`."""
    violations = tuple(dataclasses.replace(violation, parallel_sources=_sources(plan, violation))
                       for violation in report.violations)
    named = iter([violation for violation in violations if violation.parallel_operators])
    lines: List[str] = []
    for line in report.text.split("\n"):
        lines.append(line)
        if line.startswith("  parallel   "):
            found = next(named, None)
            for index, source in enumerate(found.parallel_sources[:_SHOWN] if found else ()):
                lines.append(("  written at " if index == 0 else " " * 13) + source)
    return dataclasses.replace(report, violations=violations, text="\n".join(lines))


def _sources(plan: Plan, violation: Violation) -> Tuple[str, ...]:
    programs = [program for program in plan.programs
                if not violation.devices or any(_runs(plan, program, device)
                                                for device in violation.devices)]
    found: Dict[str, None] = {}
    for operator in violation.parallel_operators:
        label = re.search(r"\((?:[^:()]*:)?([^()]*)\)$", operator)
        for program in programs:
            source = _source(program, label.group(1)) if label else None
            if source:
                found[source] = None
                break
    return tuple(found)


def _source(program: Program, label: str) -> Optional[str]:
    """Of the operator with that output, or of the backward operator `NAME.backward`."""
    for entry in program.content()["operators"]:
        if "backward" in entry:
            names: Any = [f'{entry["backward"]}.backward']
        else:
            names = entry.get("out", [])
        if label in ([names] if isinstance(names, str) else names):
            return str(entry["source"]) if "source" in entry else None
    return None


def _runs(plan: Plan, program: Program, device: int) -> bool:
    """Whether a device of that number, which is its coordinates in row-major order, runs it."""
    coordinates: Dict[str, int] = {}
    for axis, extent in reversed(list(plan.mesh.items())):
        device, coordinates[axis] = divmod(device, extent)
    fixed: Mapping[str, int] = program.content().get("devices", {})
    return all(coordinates.get(axis) == at for axis, at in fixed.items())
