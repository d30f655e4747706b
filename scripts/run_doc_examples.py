#!/usr/bin/env python3
"""Runs the console examples of the documentation and compares what they print.

    scripts/run_doc_examples.py PLANPROOF PAGE...
    scripts/run_doc_examples.py --python PYTHON PAGE...    with the package that is installed there

An example is a fenced block that follows a line `<!-- run -->`. Its lines starting with `$ planproof`
or `$ python` are commands; what follows until the next command is the expected output, where a line
`...` stands for any number of lines and `#` stands for any number (times and sizes change from run
to run).

A block after `<!-- file PATH -->` is that file of the repository, word for word. A block after
`<!-- plan -->` is a plan file that is PROVED. A block after `<!-- python NAME -->` is written to a file
of that name, where the page's Python commands run; one after `<!-- edit FROM TO -->` has the lines
that are taken out (-) and put in (+) to make another file. Names with a slash are paths of their own, from the
repository's root.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile


def examples(path):
    """Line, kind ("run", "plan", "file PATH", ...) and lines of every marked block."""
    block, wanted, inside = [], None, False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if inside:
            if line.startswith("```"):
                yield number, wanted, block
                block, inside, wanted = [], False, None
            else:
                block.append(line)
        elif re.fullmatch(r"<!-- (run|plan|(file|python) \S+|edit \S+ \S+) -->", line.strip()):
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


def edited(text, block):
    """The text with the lines that start with - replaced by those that start with +."""
    old = "".join(line[1:] + "\n" for line in block if line.startswith("-"))
    new = "".join(line[1:] + "\n" for line in block if line.startswith("+"))
    if text.count(old) != 1:
        raise ValueError(f"{text.count(old)} places to edit")
    return text.replace(old, new)


class Page:
    """The examples of one page; its Python files lie in a directory of their own."""

    def __init__(self, path, planproof, python):
        self.path, self.planproof, self.python = path, planproof, python
        self.count = self.failures = self.skipped = 0
        self.directory = tempfile.TemporaryDirectory()
        self.cache = tempfile.TemporaryDirectory()

    def fail(self, number, message):
        self.failures += 1
        print(f"{self.path}:{number}: {message}", file=sys.stderr)

    def file(self, name):
        return name if "/" in name else os.path.join(self.directory.name, name)

    def write(self, kind, block):
        words = kind.split()
        text = "\n".join(block) + "\n"
        if words[0] == "edit":
            with open(self.file(words[1]), encoding="utf-8") as original:
                text = edited(original.read(), block)
        with open(self.file(words[-1]), "w", encoding="utf-8") as file:
            file.write(text)

    def environment(self):
        values = dict(os.environ, XDG_CACHE_HOME=self.cache.name)
        if self.planproof:  # the package of this checkout, which is not installed
            values.update(PLANPROOF_BINARY=self.planproof, PYTHONPATH=os.path.abspath("python"),
                          PYTEST_PLUGINS="planproof.pytest_plugin",
                          PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONDONTWRITEBYTECODE="1")
        return values

    def command(self, words):
        """The program and its arguments, and where to run it; None if it cannot be run here."""
        if words[0] == "planproof" and self.planproof:
            return [self.planproof] + words[1:], None
        if words[0] != "python":
            return None
        if "pytest" in words and subprocess.run([self.python, "-c", "import pytest"], check=False,
                                                stderr=subprocess.DEVNULL).returncode != 0:
            return None
        return [self.python] + words[1:], self.directory.name

    def run(self, number, command, expected):
        words = shlex.split(command)
        if words[0] not in ("planproof", "python"):
            sys.exit(f"{self.path}:{number}: only planproof and python can be run: {command}")
        known = self.command(words)
        if known is None:
            self.skipped += 1
            return
        output = subprocess.run(known[0], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, check=False, cwd=known[1], env=self.environment()).stdout
        if output and not output.endswith("\n"):
            output += "\n"
        self.count += 1
        if not pattern(expected).match(output):
            self.fail(number, f"`{command}` prints\n{output}\nbut the page says\n"
                      + "\n".join(expected))

    def check(self):
        for number, kind, block in examples(self.path):
            if kind.split()[0] in ("python", "edit"):
                self.write(kind, block)
            elif kind == "run":
                self.cache.cleanup()  # each block begins with an empty cache
                self.cache = tempfile.TemporaryDirectory()
                for command, expected in commands(block):
                    self.run(number, command, expected)
            elif self.planproof:
                self.count += 1
                wrong = wrong_block(self.planproof, kind, block)
                if wrong:
                    self.fail(number, wrong)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--python", default="")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    paths = options.arguments
    planproof = "" if options.python else os.path.abspath(paths.pop(0))
    pages = [Page(path, planproof, options.python or sys.executable) for path in paths]
    for page in pages:
        page.check()
    failures = sum(page.failures for page in pages)
    skipped = sum(page.skipped for page in pages)
    print(f"docs: {sum(page.count for page in pages)} examples run, {failures} differ"
          + (f", {skipped} skipped (no planproof or no pytest there)" if skipped else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
