"""Runs planproof on a plan file, and reads its verdict and the inputs that it prints for a difference."""
import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction

from tensors import Tensor, indices, size_of

WORDS = {0: "PROVED", 1: "REFUTED", 2: "MALFORMED", 3: "UNKNOWN"}
INPUT = re.compile(r"(\S+) \[(.*?)\]: (.*)")
DIGIT = re.compile(r"(\d+)x\{([^}]*)\}")


@dataclass
class Verdict:
    word: str
    line: str = ""
    report: dict = field(default_factory=dict)


def verify(planproof, path, timeout, options=()):
    """The verdict; `crash` and `timeout` count as words, too."""
    report = path + ".report"
    command = [planproof, "verify", "--no-cache", "--jobs", "1", "--stage-timeout", "3", "--json", report, *options,
               path]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Verdict("timeout")
    line = (ran.stdout or ran.stderr).split("\n", maxsplit=1)[0]
    if ran.returncode not in WORDS:
        return Verdict("crash", f"exit code {ran.returncode}: {line} {ran.stderr[:200]}")
    content = {}
    if os.path.exists(report):
        with open(report, encoding="utf-8") as file:
            content = json.load(file)
        os.remove(report)
    word = WORDS[ran.returncode]
    if not line.startswith(word):
        return Verdict("crash", f"exit code {ran.returncode} with {line!r}")
    return Verdict(word, line, content)


def witness_inputs(report, model):
    """Values of the leaves as the report prints them; None where it does not print all."""
    for violation in report.get("violations", []):
        found = {}
        for text in violation["witness"]["inputs"]:
            match = INPUT.fullmatch(text)
            if match and match.group(1) in model.leaves:
                found[match.group(1)] = _tensor(match.group(2), match.group(3), model.leaves[match.group(1)])
        if found and None not in found.values():
            for name, (role, shape, kind) in model.leaves.items():
                if role not in ("ones", "zeros"):
                    found.setdefault(name, Tensor(shape, [0] * size_of(shape), kind))
            return found
    return None


def _tensor(dimensions, values, leaf):
    """From one value per block: `8 = 8x{0,2}` is a dimension of 8 whose blocks start at 0 and 2."""
    _, shape, kind = leaf
    blocks = []  # per digit: the block of each position
    digits_of = []
    for text in dimensions.split(";"):
        digits = DIGIT.findall(text)
        digits_of.append([int(extent) for extent, _ in digits])
        for extent, starts in digits:
            starts = range(int(extent)) if starts == "all" else [int(s) for s in starts.split(",")]
            blocks.append([sum(s <= k for s in starts) - 1 for k in range(int(extent))])
    try:
        numbers = [Fraction(v) for v in values.split()]
    except ValueError:
        return None
    counts = [max(b, default=-1) + 1 for b in blocks]
    extents = [e for own in digits_of for e in own]
    if size_of(counts) != len(numbers) or size_of(extents) != size_of(shape):
        return None
    flat = []
    for index in indices(extents):
        at = 0
        for k, own, count in zip(index, blocks, counts):
            at = at * count + own[k]
        flat.append(numbers[at])
    whole = [int(v) if v.denominator == 1 else v for v in flat]
    return Tensor(shape, whole, kind)
