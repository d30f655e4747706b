"""Operands, attributes and outputs of declared operators, read off their declarations."""
from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Dict, FrozenSet, List, Optional, Tuple

from planproof.binary import checked
from planproof.errors import BinaryNotFound, CommandError

_HEAD = re.compile(r'(?:^|\n)(?:op\s+)?((?:"?\w+"?\s*,\s*)*"?\w+"?)\s*\(')


@dataclass(frozen=True)
class Signature:
    """What a call of an operator must have."""

    name: str
    operands: Tuple[str, ...]
    required: int  # the first so many operands cannot be left out
    variadic: bool  # any number of operands
    integers: FrozenSet[str]  # operands that hold ids or counts, and so have no gradient
    attributes: FrozenSet[str]
    outputs: Optional[int]  # None: as many as an attribute says
    constant: bool  # its derivative is zero by declaration

    def accepts(self, operands: int) -> bool:
        """Whether a call with so many operands fits."""
        return self.required <= operands and (self.variadic or operands <= len(self.operands))

    def call(self) -> str:
        """As a reader of the reference would write it: `linear(x, w, bias?)`."""
        words = [name + ("" if i < self.required else "?") for i, name in enumerate(self.operands)]
        return f"{self.name}({', '.join(words + (['...'] if self.variadic else []))})"


def _closing(text: str, start: int) -> int:
    """Of the bracket that opens at `start`, the position where it closes."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position
    return len(text)


def _parts(text: str) -> List[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _attributes(text: str) -> FrozenSet[str]:
    words = (re.match(r"(?:(?:ignore|only)\s+)?(\w+)", part) for part in _parts(text))
    return frozenset(word.group(1) for word in words if word)


def _output_count(body: str) -> Optional[int]:
    arrows = body.count("->")
    if arrows == 1 and "=" not in body.split("->")[1]:
        listed = _parts(body.split("->")[1])
        return None if "..." in listed else len(listed)
    return max(arrows, 1)


def declared(text: str) -> Dict[str, Tuple[Signature, ...]]:
    """The operators of a text of declarations, by name; each with its overloads."""
    text = "\n".join(line.split("#")[0] for line in text.splitlines())
    found: Dict[str, Tuple[Signature, ...]] = {}
    heads = [head for head in _HEAD.finditer(text)
             if head.group(0).lstrip().startswith("op ") or head.start() == 0]
    for head, following in zip(heads, heads[1:] + [None]):
        close = _closing(text, head.end() - 1)
        operands = _parts(text[head.end():close])
        rest = text[close + 1:following.start() if following else len(text)]
        brace = re.match(r"\s*\{", rest)
        attributes: FrozenSet[str] = frozenset()
        if brace:
            end = _closing(rest, brace.end() - 1)
            attributes = _attributes(rest[brace.end():end])
            rest = rest[end + 1:]
        named = [part for part in operands if part != "..."]
        words = tuple(re.split(r"\W", part, maxsplit=1)[0] for part in named)
        variadic = len(named) < len(operands)
        required = 1 if variadic else sum("?" not in part.split(":")[0] for part in named)
        for name in re.findall(r"\w+", head.group(1)):
            found[name] = found.get(name, ()) + (Signature(
                name, words, required, variadic,
                frozenset(w for w, part in zip(words, named) if re.search(r":\s*int", part)),
                attributes, _output_count(rest),
                re.search(r"\bstop_gradient\b", rest) is not None),)
    return found


@functools.lru_cache(maxsize=None)
def builtin_names() -> Optional[FrozenSet[str]]:
    """The built-in operators; None without a command that could say so."""
    try:
        return frozenset(checked(["operators"]).split())
    except (BinaryNotFound, CommandError, OSError):
        return None


@functools.lru_cache(maxsize=None)
def builtin(name: str) -> Tuple[Signature, ...]:
    """The overloads of a built-in operator; none if there is no such operator."""
    if name not in (builtin_names() or ()):
        return ()
    blocks = re.findall(r"^```\n(.*?)^```", checked(["operators", name]), re.M | re.S)
    return tuple(form for block in blocks for form in declared(block).get(name, ()))
