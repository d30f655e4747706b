#!/usr/bin/env python3
"""Runs the console examples of the documentation and compares what they print.

An example is a fenced block that follows a line `<!-- run -->`. Its lines starting with `$ planproof`
are commands; what follows until the next command is the expected output, where a line `...` stands
for any number of lines and `#` stands for any number (times and sizes change from run to run).

A block after `<!-- file PATH -->` is that file of the repository, word for word. A block after
`<!-- plan -->` is a plan file that is PROVED.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile


def examples(path):
    """Line, kind ("run", "plan", "file PATH") and lines of every marked block."""
    block, wanted, inside = [], None, False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if inside:
            if line.startswith("```"):
                yield number, wanted, block
                block, inside, wanted = [], False, None
            else:
                block.append(line)
        elif re.fullmatch(r"<!-- (run|plan|file \S+) -->", line.strip()):
            wanted = line.strip()[5:-4]
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


def wrong_block(planproof, kind, block):
    """What is wrong with a block that is no console session; empty if nothing is."""
    text = "\n".join(block) + "\n"
    if kind.startswith("file "):
        with open(kind[5:], encoding="utf-8") as file:
            return "" if file.read() == text else f"differs from {kind[5:]}"
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as plan:
        plan.write(text)
        plan.flush()
        output = subprocess.run([planproof, "verify", "-q", "--no-cache", plan.name], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False).stdout
    return "" if output.startswith("PROVED") else output


def main():
    planproof, paths = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failures = count = 0
    cache = tempfile.TemporaryDirectory()
    for path in paths:
        for number, kind, block in examples(path):
            if kind != "run":
                count += 1
                wrong = wrong_block(planproof, kind, block)
                if wrong:
                    failures += 1
                    print(f"{path}:{number}: {wrong}", file=sys.stderr)
                continue
            cache.cleanup()  # each block begins with an empty cache
            cache = tempfile.TemporaryDirectory()
            environment = dict(os.environ, XDG_CACHE_HOME=cache.name)
            for command, expected in commands(block):
                words = shlex.split(command)
                if words[0] != "planproof":
                    sys.exit(f"{path}:{number}: only planproof commands can be run: {command}")
                output = subprocess.run([planproof] + words[1:], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, check=False,
                                        env=environment).stdout
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
