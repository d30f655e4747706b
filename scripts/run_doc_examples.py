#!/usr/bin/env python3
"""Runs the console examples of the documentation and compares what they print.

An example is a fenced block that follows a line `<!-- run -->`. Its lines starting with `$ planproof`
are commands; what follows until the next command is the expected output, where a line `...` stands
for any number of lines and `#` stands for any number (times and sizes change from run to run).
"""
import os
import re
import shlex
import subprocess
import sys


def examples(path):
    block, wanted, inside = [], False, False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if inside:
            if line.startswith("```"):
                yield number, block
                block, inside, wanted = [], False, False
            else:
                block.append(line)
        elif line.strip() == "<!-- run -->":
            wanted = True
        elif line.startswith("```") and wanted:
            inside = True


def commands(block):
    command, expected = None, []
    for line in block:
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], []
        elif command:
            expected.append(line)
    if command:
        yield command, expected


def pattern(expected):
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(re.escape(line.rstrip()).replace(r"\#", r"[0-9.]+") + r" *\n")
    return re.compile("".join(parts) + r"\Z")


def main():
    planproof, paths = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failures = count = 0
    for path in paths:
        for number, block in examples(path):
            for command, expected in commands(block):
                words = shlex.split(command)
                if words[0] != "planproof":
                    sys.exit(f"{path}:{number}: only planproof commands can be run: {command}")
                output = subprocess.run([planproof] + words[1:], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, check=False).stdout
                if output and not output.endswith("\n"):
                    output += "\n"
                count += 1
                if not pattern(expected).match(output):
                    failures += 1
                    print(f"{path}:{number}: `{command}` prints\n{output}\nbut the page says\n"
                          + "\n".join(expected), file=sys.stderr)
    print(f"docs: {count} examples run, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
