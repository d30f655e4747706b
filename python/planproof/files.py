"""Plans that lie in files: generated ones, mutants."""
from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any, Tuple, Union


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
    def within(cls, directory: Directory, names: Tuple[str, ...], description: str) -> PlanFiles:
        """Files of a directory."""
        return cls(tuple(os.path.join(path_of(directory), name) for name in names), description,
                   directory if isinstance(directory, tempfile.TemporaryDirectory) else None)


#: A path, or a temporary directory that is to be kept as long as its files.
Directory = Union[str, "os.PathLike[str]", "tempfile.TemporaryDirectory[str]"]


def path_of(directory: Directory) -> str:
    """Where it is."""
    if isinstance(directory, tempfile.TemporaryDirectory):
        return directory.name
    return os.fspath(directory)
