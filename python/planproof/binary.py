"""The command `planproof`: where it is, and how it is run."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple, Optional, Sequence

from planproof.errors import BinaryNotFound, CommandError, VerificationTimeout

_WITHIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "planproof")


def find_binary() -> str:
    """The program of this package, else $PLANPROOF_BINARY, else `planproof` on the PATH."""
    named = os.environ.get("PLANPROOF_BINARY")
    for path in (_WITHIN, named):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    if named:
        raise BinaryNotFound(f"PLANPROOF_BINARY is {named}, which is no program")
    found = shutil.which("planproof")
    # The script of this package in bin/ starts the program that is looked for here.
    if found and os.path.realpath(found) != os.path.realpath(sys.argv[0] or found + "."):
        return found
    raise BinaryNotFound("planproof is not in this package and not on the PATH: build it "
                         "(README.md) and set PLANPROOF_BINARY to build/cli/planproof")


class Outcome(NamedTuple):
    """How a run of the command ended."""

    exit_code: int
    output: str
    errors: str


def run(arguments: Sequence[str], timeout: Optional[float] = None) -> Outcome:
    """Runs the command to its end. Its workers end with it, whatever happens."""
    with subprocess.Popen([find_binary(), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace", start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(reason, subprocess.TimeoutExpired):
                raise VerificationTimeout(f"no verdict within {timeout:g} s") from None
            raise
    return Outcome(process.returncode, output, errors)


def checked(arguments: Sequence[str], timeout: Optional[float] = None) -> str:
    """What the command prints; CommandError if its exit code is not 0."""
    outcome = run(arguments, timeout)
    if outcome.exit_code != 0:
        raise CommandError(outcome.errors.strip() or outcome.output.strip(), outcome.exit_code)
    return outcome.output
