"""Relations: which slice of which logical tensor a tensor is."""
from __future__ import annotations

import difflib
from typing import Any, Dict, Iterable, Mapping, Optional, Union

from planproof.encoding import literal

#: `{0: "tp"}`: dimension 0 is cut over tp; `None` or `{}`: whole. Other keys: `of`, `partial`,
#: `map`, `shape`, `overlap`, `factor`, `on` (docs/plan-format.md, "Relations").
Relation = Optional[Mapping[Union[int, str], Any]]

_KEYS = ("of", "partial", "map", "shape", "overlap", "factor", "on", "note")


def suggestion(name: str, known: Iterable[str]) -> str:
    """'; did you mean "part"?', or nothing."""
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f'; did you mean "{near[0]}"?' if near else ""


def _check_axes(value: Any, axes: Optional[Iterable[str]]) -> None:
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    for name in names:
        if isinstance(name, str) and axes is not None and name not in axes:
            raise ValueError(f'no axis of the mesh is named "{name}"{suggestion(name, axes)}')


def encoded(relation: Relation, axes: Optional[Iterable[str]] = None) -> Dict[str, Any]:
    """The relation as the format has it. Raises ValueError for unknown keys and axes."""
    content: Dict[str, Any] = {}
    for key, value in (relation or {}).items():
        word = str(key)
        if not word.isdigit() and word not in _KEYS:
            raise ValueError(f'a relation has no key "{word}"{suggestion(word, _KEYS)}')
        if isinstance(value, tuple):
            value = list(value)
        if word.isdigit() or word == "partial":
            _check_axes(value.get("over") if isinstance(value, Mapping) else value, axes)
        elif word == "of":
            value = str(value)
        elif word == "factor":
            value = literal(value)
        content[word] = dict(value) if isinstance(value, Mapping) else value
    return content
