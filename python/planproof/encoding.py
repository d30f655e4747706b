"""Plans as JSON: numbers stay exact, an operator is a line, and every value knows its line."""
from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Dict, List, Tuple, Union

from planproof.errors import PlanError

_WIDTH = 110


def loads(text: str) -> Any:
    """Reads JSON; decimals are exact, and a key that stands twice is an error."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant,
                          object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise PlanError(f"not valid JSON: {error}") from None


def _no_constant(word: str) -> Any:
    raise PlanError(f"{word} is no number")


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise PlanError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} stands twice")
    return content


def number(value: Any) -> Any:
    """A number of Python (or NumPy) as an int, float or Decimal that is written exactly."""
    exact: Union[int, float, Decimal]
    if isinstance(value, (int, Decimal)):
        exact = value
    elif hasattr(value, "__index__"):
        exact = value.__index__()
    else:
        exact = float(value)
    if not math.isfinite(exact):
        raise ValueError(f"{value} is no finite number")
    return exact


def literal(value: Any) -> Any:
    """A number as an operand: a fraction is written as an exact rational."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return value.numerator
        return {"literal": f"{value.numerator}/{value.denominator}"}
    return number(value)


def pointer(parts: Tuple[Any, ...]) -> str:
    """A JSON pointer, as errors of the command name positions."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _flat(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:  # an exact number is somewhere in it
        pass
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_flat(entry) for entry in value) + "]"
    return json.dumps(value)  # no JSON: the error says of what type


class Layout:
    """A value as text, and on which line each part of it begins."""

    def __init__(self, value: Any):
        self.lines: List[str] = [""]
        self.line_of: Dict[Tuple[Any, ...], int] = {}
        self._write(value, (), 0, "")
        self.text = "\n".join(self.lines) + "\n"

    def _write(self, value: Any, at: Tuple[Any, ...], indent: int, end: str) -> None:
        self.line_of[at] = len(self.lines)
        flat = _flat(value)
        short = len(flat) + indent <= _WIDTH and len(at) > 0
        operator = len(at) >= 2 and at[-2] == "operators"
        if short or operator or not value or not isinstance(value, (dict, list, tuple)):
            self.lines[-1] += flat + end
            return
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        brackets = "{}" if isinstance(value, dict) else "[]"
        self.lines[-1] += brackets[0]
        for index, (key, part) in enumerate(parts):
            prefix = json.dumps(key) + ": " if isinstance(value, dict) else ""
            self.lines.append(" " * (indent + 2) + prefix)
            self._write(part, at + (key,), indent + 2, "," if index + 1 < len(value) else "")
        self.lines.append(" " * indent + brackets[1] + end)
