"""Plans that lie in files: generated ones, mutants."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Tuple


@dataclass(frozen=True)
class PlanFiles:
    """Files of a plan: one with both roles, or (logical, parallel). Those that were written to a
    temporary directory are removed with this object."""

    paths: Tuple[str, ...]
    description: str = ""
    keep: Any = None  # the temporary directory

    def __iter__(self) -> Any:
        return iter(self.paths)

    def __str__(self) -> str:
        return self.description or " ".join(self.paths)

    @classmethod
    def within(cls, directory: Any, names: Tuple[str, ...], description: str) -> PlanFiles:
        """Files of a directory: a path, or a TemporaryDirectory to be kept."""
        path = getattr(directory, "name", directory)
        return cls(tuple(os.path.join(os.fspath(path), name) for name in names), description,
                   None if path is directory else directory)
