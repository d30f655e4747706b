#!/usr/bin/env python3
"""Writes the broken twins of plan.json that docs/first-plan.md shows: one change of text each."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
REDUCE = '"op": "all_reduce", "over": "tp", "in": "part", "out": "y"}'
LINEAR = '        {"op": "linear", "in": ["x", "w"], "out": "part"},\n'
SLICE = ('        {"op": "narrow", "in": "x", "out": "xs", '
         '"attrs": {"dim": 1, "start": START, "length": 8}},\n')
LINEAGE = '{"part": {"of": "y", "partial": "tp"}, "y": {}, "grad.y": {}}'

# Every device holds all of x and takes its columns itself.
SLICED = [('"x": {"1": "tp"}', '"x": {}'), (LINEAR, SLICE + LINEAR.replace('"x"', '"xs"'))]
TWINS = {
    "missing_sum": [(REDUCE, '"op": "identity", "in": "part", "out": "y"}')],
    "missing_sum_no_lineage": [(REDUCE, '"op": "identity", "in": "part", "out": "y"}'),
                               ("],\n      \"lineage\": " + LINEAGE, "]")],
    "sliced": SLICED[:1] + [(LINEAR, SLICED[1][1].replace("START", '"=tp * 8"'))],
    "same_slice": SLICED[:1] + [(LINEAR, SLICED[1][1].replace("START", "0"))],
    "same_range": [('"w": {"1": "tp"}', '"w": {"1": [0, 8]}')],
    "sum_twice": [('        {"backward": "part", "grad": {"part": "grad.y"}}',
                   '        {"op": "all_reduce", "over": "tp", "in": "grad.y", "out": "g"},\n'
                   '        {"backward": "part", "grad": {"part": "g"}}')],
    "wrong_shape": [('"t": [8, 32]', '"t": [8, 31]')],
    "wrong_name": [('"in": "part", "out": "y"}', '"in": "prat", "out": "y"}')],
    "no_seed": [(', "grad.loss": {}', "")],
    "missing_comma": [('"in": "part", "out": "y"},', '"in": "part", "out": "y"}')],
}


def main():
    with open(os.path.join(HERE, "plan.json"), encoding="utf-8") as file:
        plan = file.read()
    for name, changes in TWINS.items():
        text = plan
        for old, new in changes:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
