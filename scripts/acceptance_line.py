"""One line of the acceptance list: runs commands, prints each with what came out, and says whether the
line holds. A requirement that was not looked at (no plans, a skipped test, no test of that name) is
never counted as met."""
import os
import re
import shlex
import subprocess
import tempfile
import xml.etree.ElementTree

MET, BROKEN, OPEN, BY_HAND = "ok", "NO", "open", "by hand"


def for_ctest(pattern):
    """A pattern in CMake's dialect of regular expressions, which has no \\w and \\d: an unknown escape
    means the letter itself there, so that such a pattern matches nothing."""
    return pattern.replace(r"\w", "[A-Za-z0-9_]").replace(r"\d", "[0-9]")


def excerpt(text, most):
    """The first lines of a text, each cut to 160 characters."""
    lines = [line[:160] for line in text.strip().splitlines()]
    return lines[:most] + ([f"({len(lines) - most} more lines)"] if len(lines) > most else [])


class Line:
    def __init__(self, number, title, root, build):
        self.number, self.title, self.root, self.build = number, title, root, build
        self.results = []
        print(f"\n[{number}] {title}", flush=True)

    # ---- What was found ----

    def _note(self, result, text):
        self.results.append((result, text))
        print(f"    {result:<8}{text}", flush=True)

    def require(self, condition, text):
        self._note(MET if condition else BROKEN, text)
        return bool(condition)

    def open(self, text):
        """Something that this run did not look at."""
        self._note(OPEN, text)

    def by_hand(self, text):
        """Something that no program can look at."""
        self._note(BY_HAND, text)

    def verdict(self):
        kinds = {result for result, _ in self.results}
        if BROKEN in kinds:
            return "does not hold"
        if OPEN in kinds or not kinds:
            return "not shown"
        if MET not in kinds:
            return "by hand"
        return "holds, with a part by hand" if BY_HAND in kinds else "holds"

    def because(self):
        """What keeps the line from holding."""
        for result in (BROKEN, OPEN, BY_HAND):
            texts = [text for kind, text in self.results if kind == result]
            if texts:
                return texts[0] + (f" (and {len(texts) - 1} more)" if len(texts) > 1 else "")
        return f"{len(self.results)} requirements"

    # ---- Commands ----

    def shown(self, argument):
        """A path as someone in the repository's directory would write it; a temporary file's name."""
        if not os.path.isabs(argument):
            return argument
        relative = os.path.relpath(os.path.realpath(argument), self.root)
        return os.path.basename(argument) if relative.startswith("../..") else relative

    def run(self, *command, show=3, timeout=900, environment=None, cwd=None):
        """Exit code and output (both streams) of a command; prints it with its first lines."""
        settings = "".join(f"{key}={value} " for key, value in (environment or {}).items())
        print("  $ " + settings + shlex.join(self.shown(word) for word in command), flush=True)
        try:
            finished = subprocess.run(command, cwd=cwd or self.root, text=True, timeout=timeout,
                                      env={**os.environ, **(environment or {})}, check=False,
                                      errors="replace", stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
            code, output = finished.returncode, finished.stdout
        except subprocess.TimeoutExpired:
            code, output = 124, f"stopped after {timeout} s"
        for text in excerpt(output, show):
            print("      " + text)
        print(f"      exit code {code}", flush=True)
        return code, output

    def tests(self, what, *patterns, timeout=1800):
        """Every pattern (of a whole ctest name) must match a test, and all that match must have run
        and passed."""
        with tempfile.NamedTemporaryFile(suffix=".xml") as results:
            wanted = "|".join(for_ctest(pattern) for pattern in patterns)
            command = ["ctest", "--test-dir", self.build, "-j", "2", "--no-tests=error",
                       "--output-junit", results.name, "-R", f"^({wanted})$"]
            code, output = self.run(*command, show=0, timeout=timeout)
            try:
                cases = list(xml.etree.ElementTree.parse(results.name).getroot().iter("testcase"))
            except xml.etree.ElementTree.ParseError:
                cases = []
        names = [case.get("name") for case in cases]
        absent = [pattern for pattern in patterns
                  if not any(re.fullmatch(pattern, name) for name in names)]
        skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
        failed = [case.get("name") for case in cases if case.get("status") == "fail"]
        if absent:
            self.require(False, f"{what}: no test is called {absent[0]}")
        elif failed or (code != 0 and not skipped):
            self.require(False, f"{what}: {len(failed)} of {len(cases)} tests failed"
                         + (f": {failed[0]}" if failed else f": {output.strip()[-80:]}"))
        elif skipped:
            self.open(f"{what}: {len(skipped)} of {len(cases)} tests were skipped: {skipped[0]}")
        else:
            self.require(True, f"{what}: {len(cases)} tests passed, none skipped")
        return names
