"""Where in the user's program something was said."""
from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Source:
    """A line of a program. As text it is what the plan format calls a source."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return self.locate(self.text)

    def locate(self, message: str) -> str:
        """The message, preceded by file and line."""
        place = f"{self.file}:{self.line}"
        return f"{place}: {message}" if message else place


def caller() -> Source:
    """The line that called this package: the innermost frame outside of it."""
    frame = sys._getframe(1)
    while frame.f_back and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    path, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(path, line, frame.f_globals).strip()
    return Source(_shortened(path), line, text)


def _shortened(path: str) -> str:
    """Relative to the working directory if the file lies below it."""
    if path.startswith("<"):
        return path
    absolute = os.path.abspath(path)
    below = os.getcwd().rstrip(os.sep) + os.sep
    return absolute[len(below):] if absolute.startswith(below) else absolute
