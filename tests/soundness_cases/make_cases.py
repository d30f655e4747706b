#!/usr/bin/env python3
"""Writes cases/*.json and manifest.json: small pairs on which wrong reductions and wrong algebra fail.

Every row is written with the sizes for which it is stated and once with others. The manifest says
the verdict, which premises must be listed, and the shortcut that the row catches.
Run from this directory: python3 make_cases.py
"""
import json
import os

import algebra_cases
import domain_cases
import plan_cases
import zero_cases
from case_files import MANIFEST


def main():
    os.makedirs("cases", exist_ok=True)
    for old in os.listdir("cases"):
        os.remove(os.path.join("cases", old))
    algebra_cases.write_rows()
    plan_cases.write_rows()
    domain_cases.write_rows()
    zero_cases.write_rows()
    with open("manifest.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(entry) for entry in MANIFEST) + "\n]\n")


if __name__ == "__main__":
    main()
