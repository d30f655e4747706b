"""Reads plan files into builders, so that they can be changed and verified."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Union

from planproof.binary import checked
from planproof.encoding import loads
from planproof.errors import PlanError
from planproof.files import PlanFiles
from planproof.graph import Graph
from planproof.plan import Plan
from planproof.program import Program
from planproof.source import Source, caller
from planproof.specification import Specification

_LEAVES = ("inputs", "parameters", "buffers", "ones", "zeros")


def load(*paths: Union[str, "os.PathLike[str]", PlanFiles]) -> Plan:
    """Reads a plan file, or (logical, parallel), in JSON or binary form. Nothing in it is
    executed. What is wrong with its meaning is said by `verify`."""
    content: Dict[str, Any] = {}
    listed = [path for entry in paths
              for path in (entry.paths if isinstance(entry, PlanFiles) else [entry])]
    for path in listed:
        for key, value in _content(path).items():
            if key in content and key not in ("planproof", "note", "operators"):
                raise PlanError(f'{os.fspath(path)}: "{key}" is in two files', caller())
            content[key] = content.get(key, []) + _lines(value) if key == "operators" else value
    return parsed(content)


def _content(path: Union[str, "os.PathLike[str]"]) -> Dict[str, Any]:
    with open(path, "rb") as file:
        start = file.read(64)
    if not start.lstrip().startswith(b"{"):
        with tempfile.TemporaryDirectory(prefix="planproof-") as directory:
            readable = os.path.join(directory, "plan.json")
            checked(["convert", "--readable", f"--output={readable}", "--", os.fspath(path)])
            return _content(readable)
    with open(path, encoding="utf-8") as file:
        try:
            content = loads(file.read())
        except PlanError as error:
            raise PlanError(f"{os.fspath(path)}: {error.message}", caller()) from None
    if not isinstance(content, dict):
        raise PlanError(f"{os.fspath(path)}: a plan file is an object", caller())
    return content


def _lines(value: Any) -> List[str]:
    return value.splitlines() if isinstance(value, str) else list(value)


def parsed(content: Mapping[str, Any]) -> Plan:
    """The builder of a plan file's content."""
    known = {"planproof", "note", "operators", "specification", "plan"}
    if content.get("planproof") != 1 or set(content) - known:
        odd = ", ".join(sorted(set(content) - known)) or f"version {content.get('planproof')}"
        raise PlanError(f"no plan file of version 1 with specification and plan: {odd}", caller())
    specification: Optional[Specification] = None
    try:
        if "specification" in content:
            specification = _specification(content["specification"])
            specification.declare("\n".join(_lines(content.get("operators", []))))
        role = content.get("plan", {})
        plan = Plan(specification, role.get("mesh"), microbatches=role.get("microbatches", 1),
                    note=content.get("note"))
        plan.head = {key: value for key, value in role.items() if key in ("note",)}
        plan.declare("\n".join(_lines(role.get("declarations", []))))
        for entry in role.get("programs", []):
            _program(plan, entry)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"this is no plan file: {error}", caller()) from error
    return plan


def _define(graph: Graph, at: Any, content: Mapping[str, Any], names: List[str]) -> None:
    """Operators and leaves that stand in a file keep the source that the file gives them."""
    source = _source(content.get("source")) or caller()
    graph._sources[at] = source
    for name in names:
        graph._defined[name] = source
        graph._definition[name] = dict(content)


def _source(text: Optional[str]) -> Optional[Source]:
    place, _, rest = (text or "").partition(": ")
    file, _, line = place.rpartition(":")
    return Source(file, int(line), rest) if file and line.isdigit() else None


def _operators(graph: Graph, listed: List[Dict[str, Any]]) -> None:
    for entry in listed:
        out = entry.get("out", [])
        names = list(out.values()) if isinstance(out, dict) else [out] if isinstance(out, str) \
            else out
        if "backward" in entry and not names:
            forward = graph._definition.get(entry["backward"], {})
            reads = forward.get("in", [])
            operands = [reads] if isinstance(reads, str) else reads
            graph._implied.update(f"grad.{name}" for name in operands if isinstance(name, str))
        _define(graph, ("operators", len(graph._operators)), entry, names)
        graph._operators.append(entry)


def _specification(content: Mapping[str, Any]) -> Specification:
    model = Specification(content.get("note"))
    for role in _LEAVES:
        if role in content:
            model._leaves[role] = dict(content[role])
            for name in content[role]:
                _define(model, (role, name), {}, [name])
                del model._definition[name]
    for role in ("premises", "literals", "updates", "relations"):
        if role in content:
            model._maps[role] = dict(content[role])
    _operators(model, content.get("operators", []))
    gradients = content.get("gradients", [])
    model._gradients = list(gradients) if isinstance(gradients, list) else [gradients]
    model._outputs = content.get("outputs")
    return model


def _program(plan: Plan, content: Mapping[str, Any]) -> Program:
    program = plan.program(content.get("name"), content.get("devices"), note=content.get("note"))
    inputs = content.get("inputs", {})
    program._inputs = dict(inputs) if isinstance(inputs, dict) else {name: {} for name in inputs}
    program._listed = not isinstance(inputs, dict)
    for name in program._inputs:
        _define(program, ("inputs", name), {}, [name])
        del program._definition[name]
    _operators(program, content.get("operators", []))
    program._schedule = content.get("schedule")
    for role in ("buffers", "lineage", "outputs"):
        if role in content:
            value = content[role]
            program._maps[role] = dict(value) if isinstance(value, dict) else \
                {name: name for name in value}
    program._exceptions = list(content.get("exceptions", []))
    return program
