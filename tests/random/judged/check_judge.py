#!/usr/bin/env python3
"""Asks the judge about plans whose truth is known: the soundness cases and the first plan of the documentation.

check_judge.py ROOT

ROOT is the root of the repository. What must be PROVED must not differ; what must be REFUTED must not be equal at all
inputs tried.
"""
import json
import os
import random
import sys

import judge
import run

# Differences that random inputs rarely show: a limit met by small inputs only, numbers that are their own index, a
# single element that is 0.
RARE = ("R22_", "A10_any_", "A6_", "S18_the_model_divides_by_some_")
LARGE = 2000  # elements of one tensor: more takes long


def is_small(content):
    specification = content.get("specification", {})
    for role in ("inputs", "parameters", "buffers"):
        for kind in specification.get(role, {}).values():
            size = 1
            for extent in judge.Model({"inputs": {"x": kind}}, None).leaves["x"][1]:
                size *= extent
            if size > LARGE:
                return False
    return "plan" in content


def cases(root):
    """(file, verdicts that are right)."""
    folder = os.path.join(root, "tests", "soundness_cases")
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        for case in json.load(file):
            yield os.path.join(folder, "cases", case["file"]), case["verdict"]
    first = os.path.join(root, "examples", "first_plan")
    for name, verdict in (("plan", "PROVED"), ("sliced", "PROVED"), ("missing_sum", "REFUTED"),
                          ("sum_twice", "REFUTED"),
                          ("same_slice", "REFUTED"), ("wrong_name", "MALFORMED"), ("same_range", "MALFORMED")):
        yield os.path.join(first, name + ".json"), [verdict]


def contradicts(truth, verdicts):
    if "PROVED" in verdicts:
        return truth in (judge.DIFFERENT, judge.MALFORMED)
    return truth == judge.EQUAL and verdicts == ["REFUTED"]


def main():
    checked, wrong = {}, 0
    for path, verdicts in cases(sys.argv[1]):
        name = os.path.basename(path)
        content = run.read(path)
        if name.startswith(RARE) or not is_small(content):
            continue
        truth = judge.truth(content, random.Random(name), 8)
        checked[truth.word] = checked.get(truth.word, 0) + 1
        if contradicts(truth.word, verdicts):
            wrong += 1
            print(f"{name}: {truth.word} ({truth.why}), but {' or '.join(verdicts)} is right")
    print(checked)
    sys.exit(1 if wrong or checked.get(judge.EQUAL, 0) < 30 or checked.get(judge.DIFFERENT, 0) < 30 else 0)


if __name__ == "__main__":
    main()
