"""What can go wrong, as exceptions."""
from __future__ import annotations

from typing import Optional

from planproof.source import Source


class PlanproofError(Exception):
    """The base of all errors of this package."""


class PlanError(PlanproofError, ValueError):
    """A specification or plan that cannot be right, at the line of the caller that said so."""

    def __init__(self, message: str, source: Optional[Source] = None):
        self.message = message
        self.source = source
        super().__init__(source.locate(message) if source else message)


class BinaryNotFound(PlanproofError, FileNotFoundError):
    """The command `planproof` is neither in the package nor anywhere it was looked for."""


class CommandError(PlanproofError, RuntimeError):
    """The command failed without a verdict: wrong usage, or an error of its own."""

    def __init__(self, message: str, exit_code: int):
        self.exit_code = exit_code
        super().__init__(message)


class VerificationTimeout(PlanproofError, TimeoutError):
    """`timeout` seconds were not enough for a verdict."""


class RecordingError(PlanproofError, RuntimeError):
    """A step of a PyTorch program that cannot be recorded, or a trace that cannot be replayed."""
