"""Positions in a plan file, translated back to the lines of the program that wrote it."""
from __future__ import annotations

import bisect
import re
from typing import Any, Dict, Mapping, Optional, Tuple

from planproof.encoding import Layout, pointer
from planproof.source import Source


class Positions:
    """Of a plan that was written to `path`: what stands there in the command's messages."""

    def __init__(self, path: str, layout: Layout, sources: Mapping[Tuple[Any, ...], Source],
                 label: str):
        self._label = label
        self._by_pointer: Dict[str, Source] = {pointer(at): s for at, s in sources.items()}
        lines = sorted((layout.line_of[at], len(at), s) for at, s in sources.items()
                       if at and at in layout.line_of)
        self._lines = [line for line, _, _ in lines]
        self._by_line = [source for _, _, source in lines]
        # FILE:LINE: /a/b/0: message; FILE:LINE; FILE
        self._place = re.compile(
            re.escape(path) + r"(?::(?P<line>\d+)(?P<position>: (?P<pointer>/[^:\s]*): )?)?")

    def translate(self, text: str) -> str:
        """The text, with lines of the program for positions in the file."""
        return self._place.sub(self._replacement, text)

    def _replacement(self, match: "re.Match[str]") -> str:
        if match["pointer"]:
            source = self._nearest(match["pointer"])
            return source.locate(f"{source.text}: ") if source else \
                f"{self._label}: {match['pointer']}: "
        if match["line"]:
            source = self._at(int(match["line"]))
            return str(source) if source else self._label
        return self._label

    def _nearest(self, position: str) -> Optional[Source]:
        """The source of the innermost part around a JSON pointer."""
        while position not in self._by_pointer and position:
            position = position.rpartition("/")[0]
        return self._by_pointer.get(position)

    def _at(self, line: int) -> Optional[Source]:
        index = bisect.bisect_right(self._lines, line) - 1
        return self._by_line[index] if index >= 0 else None
