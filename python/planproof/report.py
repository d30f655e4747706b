"""The answer of a verification, as data."""
from __future__ import annotations

import enum
import html
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping, Tuple, Type, TypeVar


class Verdict(enum.Enum):
    """The four answers (README.md)."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    MALFORMED = "MALFORMED"
    UNKNOWN = "UNKNOWN"

    def __str__(self) -> str:
        return self.value


_Record = TypeVar("_Record")


def _record(kind: Type[_Record], content: Mapping[str, Any]) -> _Record:
    """The fields of a dataclass that are there; lists as tuples. Other keys may be added."""
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: tuple(value) if isinstance(value, list) else value
                   for key, value in content.items() if key in known})


@dataclass(frozen=True)
class Witness:
    """An input for which an output differs. Values are decimals of any length."""

    place: str = ""
    logical: str = ""
    parallel: str = ""
    precision_bits: int = 0
    inputs: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Violation:
    """A finding. `cause` is what stands in the first line of the report."""

    verdict: Verdict
    kind: str = ""
    stage: str = ""
    cause: str = ""
    advice: str = ""
    message: str = ""
    logical_operator: str = ""
    logical_source: str = ""
    parallel_operators: Tuple[str, ...] = ()
    parallel_sources: Tuple[str, ...] = ()  # their lines, of a plan that was built in Python
    devices: Tuple[int, ...] = ()
    microbatches: str = ""
    lineage: str = ""
    witness: Witness = Witness()

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> Violation:
        """From the JSON report."""
        return _record(cls, {**content, "verdict": Verdict(content["verdict"]),
                             "witness": _record(Witness, content.get("witness") or {})})


@dataclass(frozen=True)
class Stages:
    """Claims: one for each required output and each tensor with a lineage."""

    total: int = 0
    classes: int = 0
    proved: int = 0
    refuted: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Operators:
    """Operator instances (docs/report.md)."""

    logical: int = 0
    parallel: int = 0
    covered: int = 0


@dataclass(frozen=True)
class Outputs:
    """How many outputs are required, and how many the plan claims."""

    required: int = 0
    claimed: int = 0


@dataclass(frozen=True)
class Cache:
    """What was remembered from earlier runs."""

    used: bool = False
    hits: int = 0
    misses: int = 0
    solved: int = 0


@dataclass(frozen=True)
class Assumed:
    """A relation that was taken for granted: the plan's tensor has the values of the model's."""

    tensor: str = ""
    operator: str = ""
    stands_for: str = ""
    relation: str = ""
    reason: str = ""
    stated_at: str = ""
    need: str = "used"  #: "provable" and "no effect": it may be left out


@dataclass(frozen=True)
class Report:
    """What `verify` answers. Its text is that of the command; it is true if PROVED, also under
    assumptions, which `assumed` lists."""

    verdict: Verdict
    text: str
    exit_code: int = 0
    files: Tuple[str, ...] = ()
    violations: Tuple[Violation, ...] = ()
    premises: Tuple[str, ...] = ()
    restrictions: Tuple[str, ...] = ()
    assumptions: Tuple[str, ...] = ()
    assumed: Tuple[Assumed, ...] = ()
    behind_assumptions: Tuple[str, ...] = ()
    warnings: Tuple[str, ...] = ()
    without_effect: Tuple[str, ...] = ()
    relations: Tuple[str, ...] = ()
    stages: Stages = Stages()
    operators: Operators = Operators()
    outputs: Outputs = Outputs()
    cache: Cache = Cache()
    tiers: Mapping[str, int] = field(default_factory=dict)
    time_s: Mapping[str, float] = field(default_factory=dict)
    peak_rss_mb: Mapping[str, float] = field(default_factory=dict)
    engine: str = ""
    version: str = ""
    json: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, content: Dict[str, Any], text: str) -> Report:
        """From the JSON report and the text beside it."""
        groups = {"stages": Stages, "operators": Operators, "outputs": Outputs, "cache": Cache}
        parsed: Dict[str, Any] = {key: _record(kind, content.get(key) or {})
                                  for key, kind in groups.items()}
        violations = tuple(Violation.parse(entry) for entry in content.get("violations", ()))
        assumed = tuple(_record(Assumed, entry) for entry in content.get("assumed", ()))
        return _record(cls, {**content, **parsed, "verdict": Verdict(content["verdict"]),
                             "violations": violations, "assumed": assumed, "text": text.rstrip("\n"),
                             "json": content})

    @property
    def proved(self) -> bool:
        """Whether every required output is right on every device."""
        return self.verdict is Verdict.PROVED

    @property
    def headline(self) -> str:
        """The first line: verdict, stage and suspected cause."""
        return self.text.split("\n", 1)[0]

    @property
    def explanation(self) -> str:
        """The first finding: the lines up to the first empty one."""
        return self.text.split("\n\n", 1)[0]

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Report {self.headline}>"

    def _repr_html_(self) -> str:
        color = {"PROVED": "#1a7f37", "UNKNOWN": "#9a6700"}.get(self.verdict.value, "#cf222e")
        head, _, rest = html.escape(self.text).partition("\n")
        return (f'<pre><span style="color: {color}; font-weight: bold">{head}</span>\n'
                f"{rest}</pre>")
