"""The file of a trace: one JSON object, compressed (docs/torch-trace.md)."""
from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import numpy

VERSION = 2
#: Versions that are read.
READABLE = (1, VERSION)

Path = Union[str, "os.PathLike[str]"]


class Strings:
    """Texts that recur, written once: places in a program mostly."""

    def __init__(self) -> None:
        self.texts: List[str] = []
        self._numbers: Dict[str, int] = {}

    def number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class Groups:
    """Process groups, each with its ranks in the group's order."""

    def __init__(self) -> None:
        self.ranks: List[List[int]] = []

    def number(self, ranks: Sequence[int]) -> int:
        members = [int(rank) for rank in ranks]
        if members not in self.ranks:
            self.ranks.append(members)
        return self.ranks.index(members)


def is_finite(value: Any) -> bool:
    """Whether it is a real number that has a JSON of its own."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def number(value: Union[bool, int, float]) -> Any:
    """A number as the format has it; infinities and NaN have no JSON of their own."""
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if math.isnan(value):
        return {"float": "nan"}
    if math.isinf(value):
        return {"float": "inf" if value > 0 else "-inf"}
    return float(value)


def read_number(value: Any) -> Any:
    """The number that `number` wrote."""
    return float(value["float"]) if isinstance(value, dict) else value


def save(content: Dict[str, Any], path: Path) -> None:
    """Writes a trace; equal traces are equal files."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    with open(path, "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(text.encode("utf-8"))


def load(path: Path) -> Dict[str, Any]:
    """Reads a trace. Raises ValueError if it is none, or of another version."""
    with gzip.open(path, "rb") as file:
        content = json.loads(file.read())
    version = content.get("planproof_torch_trace") if isinstance(content, dict) else None
    if version not in READABLE:
        raise ValueError(f"{os.fspath(path)} is no trace of version {' or '.join(map(str, READABLE))}")
    return dict(content)


def values_path(path: Path) -> str:
    """Where the values are that a replay of this trace starts from and compares with."""
    text = os.fspath(path)
    return (text[:-len(".trace")] if text.endswith(".trace") else text) + ".values.npz"


def save_values(values: Mapping[str, numpy.ndarray], path: Path) -> str:
    """Writes the values beside a trace, and gives the digest by which the trace is bound to them. Equal values are equal
    files."""
    place = values_path(path)
    numpy.savez_compressed(place, **values)  # type: ignore[arg-type]
    return digest(place)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


#: storage, dtype, offset, shape, strides, flags
View = Tuple[int, str, int, Tuple[int, ...], Tuple[int, ...], int]


def encoded_view(view: View) -> List[Any]:
    """A tensor as the format has it; flags of 0 are left out."""
    storage, dtype, offset, shape, strides, flags = view
    entry: List[Any] = [storage, dtype, offset, list(shape), list(strides)]
    return entry + [flags] if flags else entry
