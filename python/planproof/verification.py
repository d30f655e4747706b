"""Runs `planproof verify`."""
from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from planproof.binary import run
from planproof.encoding import Layout
from planproof.errors import CommandError
from planproof.files import PlanFiles
from planproof.origins import with_origins
from planproof.plan import Plan
from planproof.positions import Positions
from planproof.report import Report, Verdict

Path = Union[str, "os.PathLike[str]"]
#: A plan as built or read, the content of a plan file, a file, or files (logical, parallel).
PlanLike = Union[Plan, PlanFiles, Mapping[str, Any], Path, Sequence[Path]]

_FAILED = 64  # exit codes from here on are no verdicts


class Written(NamedTuple):
    """Files of a plan, and the way back to the lines that wrote them."""

    paths: List[str]
    positions: Optional[Positions]

    def translate(self, text: str) -> str:
        """Positions in the files as lines of the program."""
        return self.positions.translate(text) if self.positions else text


@contextmanager
def written(plan: PlanLike) -> Iterator[Written]:
    """The plan as files, which are removed at the end if they were written for this."""
    if isinstance(plan, (str, os.PathLike)):
        yield Written([os.fspath(plan)], None)
    elif isinstance(plan, PlanFiles):
        yield Written([os.fspath(path) for path in plan.paths], None)
    elif isinstance(plan, (Plan, Mapping)):
        content, label = (plan.content(), plan.source.file) if isinstance(plan, Plan) \
            else (plan, "plan")
        sources = plan.sources() if isinstance(plan, Plan) else {}
        layout = Layout(content)
        with tempfile.TemporaryDirectory(prefix="planproof-") as directory:
            path = os.path.join(directory, "plan.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(layout.text)
            yield Written([path], Positions(path, layout, sources, label))
    else:
        yield Written([os.fspath(path) for path in plan], None)


def _options(values: Mapping[str, Any]) -> List[str]:
    """`stage_timeout=5` as `--stage-timeout=5`; None and False are left out."""
    words = []
    for key, value in values.items():
        if value is None or value is False:
            continue
        word = "--" + key.replace("_", "-")
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        words.append(word if value is True else f"{word}={value}")
    return words


def verify(plan: PlanLike, *, timeout: Optional[float] = None, verbose: bool = False,
           jobs: Optional[int] = None, stage_timeout: Optional[float] = None,
           memory_limit: Optional[int] = None, work_limit: Optional[float] = None,
           engine: Optional[str] = None, explain: bool = True, accept_restrictions: bool = False,
           expect_schedule: Optional[str] = None, operators: Optional[Path] = None,
           witness_out: Optional[Path] = None, cache: Union[bool, Path, None] = None,
           assume: Union[Path, Sequence[Mapping[str, Any]], None] = None,
           **options: Any) -> Report:
    """Proves or refutes a plan.

    `timeout` is in seconds for the whole run (VerificationTimeout); `cache=False` remembers
    nothing, `cache=DIRECTORY` remembers there. `assume` is a file of approved approximations
    (docs/assumptions.md), or its entries: `[{"tensor": "norm.*", "reason": "per rank"}]`; the
    report lists them in `assumed`. The other options are those of `planproof verify
    --help`, also those that are not named here: `fold=False` is `--no-fold`.
    """
    chosen: Dict[str, Any] = dict(
        verbose=verbose, jobs=jobs, stage_timeout=stage_timeout, memory_limit=memory_limit,
        work_limit=work_limit, engine=engine, no_explain=not explain,
        accept_restrictions=accept_restrictions, expect_schedule=expect_schedule,
        operators=operators, witness_out=witness_out)
    chosen["no_cache" if cache is False else "cache"] = True if cache is False else \
        None if cache is True else cache
    for key, value in options.items():
        chosen[f"no_{key}" if value is False else key] = True if value is False else value
    with written(plan) as files, tempfile.TemporaryDirectory(prefix="planproof-") as directory:
        report = os.path.join(directory, "report.json")
        if assume is not None:
            chosen["assume"] = _assumptions(assume, directory)
        outcome = run(["verify", *_options(chosen), f"--json={report}", "--", *files.paths],
                      timeout)
        if outcome.exit_code >= _FAILED or outcome.exit_code < 0:
            raise CommandError(files.translate(outcome.errors.strip()), outcome.exit_code)
        with open(report, encoding="utf-8") as file:
            content = json.load(file)
        parsed = Report.parse(_translated(content, files), files.translate(outcome.output))
        return with_origins(parsed, plan) if isinstance(plan, Plan) else parsed


def _assumptions(assume: Union[Path, Sequence[Mapping[str, Any]]], directory: str) -> str:
    """The file; entries are written to one, whose name positions in messages have."""
    if isinstance(assume, (str, os.PathLike)):
        return os.fspath(assume)
    path = os.path.join(directory, "assume.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"assumptions": list(assume)}, file)
    return path


def _translated(value: Any, files: Written) -> Any:
    if isinstance(value, str):
        return files.translate(value)
    if isinstance(value, list):
        return [_translated(entry, files) for entry in value]
    if isinstance(value, dict):
        if value.keys() >= {"file", "line"}:
            return _translated_place(value, files)
        return {key: _translated(entry, files) for key, entry in value.items()}
    return value


def _translated_place(place: Mapping[str, Any], files: Written) -> Dict[str, Any]:
    """A file and a line of it as those of the program that wrote it."""
    there = f"{place['file']}:{place['line']}" if place["line"] else place["file"]
    translated = files.translate(there)
    if translated == there:
        return dict(place)
    match = re.fullmatch(r"(.*?):(\d+)(?:: (.*))?", translated, re.DOTALL)
    if not match:
        return {**place, "file": translated, "line": 0}
    return {**place, "file": match[1], "line": int(match[2]), "text": match[3] or ""}


def assert_verified(plan: PlanLike, *, verdict: Union[Verdict, str] = Verdict.PROVED,
                    **options: Any) -> Report:
    """Verifies, and raises an AssertionError with the explanation unless the plan is PROVED (or
    has another `verdict` that is expected)."""
    __tracebackhide__ = True  # pytest shows the caller
    return expect(verify(plan, **options), verdict)


def expect(report: Report, verdict: Union[Verdict, str] = Verdict.PROVED) -> Report:
    """Raises an AssertionError with the explanation unless the verdict is the expected one."""
    __tracebackhide__ = True
    expected = Verdict(str(verdict))
    if report.verdict is not expected:
        wanted = "" if expected is Verdict.PROVED else f"{expected} is expected, but it is\n"
        raise AssertionError(wanted + report.explanation)
    return report
