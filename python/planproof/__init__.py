"""Proves that a distributed training plan computes what the single-device model says.

    model = planproof.Specification()
    plan = planproof.Plan(model, mesh={"tp": 2})
    print(planproof.verify(plan))

docs/python.md has the tour; docs/plan-format.md says what plans mean.
"""
from planproof.binary import find_binary
from planproof.command import generate, mutate, show
from planproof.errors import (BinaryNotFound, CommandError, PlanError, PlanproofError,
                              RecordingError, VerificationTimeout)
from planproof.files import PlanFiles
from planproof.loading import load
from planproof.plan import Plan
from planproof.program import Program
from planproof.report import Assumed, Report, Verdict, Violation, Witness
from planproof.schedules import gpipe, loop, one_f_one_b
from planproof.source import Source
from planproof.specification import Specification
from planproof.tensors import Tensor
from planproof.verification import assert_verified, verify

__all__ = [
    "Assumed", "BinaryNotFound", "CommandError", "Plan", "PlanError", "PlanFiles", "PlanproofError",
    "Program", "RecordingError", "Report", "Source", "Specification", "Tensor",
    "VerificationTimeout", "Verdict", "Violation", "Witness", "assert_verified", "find_binary",
    "generate", "gpipe", "load", "loop", "mutate", "one_f_one_b", "show", "verify",
]
