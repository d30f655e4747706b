"""The other commands: generate, mutate, convert."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Optional

from planproof.binary import checked
from planproof.errors import CommandError
from planproof.files import Directory, PlanFiles, path_of
from planproof.verification import Path, PlanLike, _options, written


def generate(model: Optional[str] = None, *, preset: Optional[str] = None,
             output: Optional[Path] = None, **strategy: Any) -> PlanFiles:
    """The logical graph of a model and a parallel plan for it (docs/generator.md):
    `generate("llama3-8b", dp=2, tp=4, sequence_parallel=True)`. Without `output` the files are
    temporary."""
    directory: Directory = tempfile.TemporaryDirectory(prefix="planproof-") \
        if output is None else output
    said = checked(["generate", *_options(dict(model=model, preset=preset, **strategy)),
                    f"--output={path_of(directory)}"])
    return PlanFiles.within(directory, ("logical.plan", "parallel.plan"), said.strip())


def mutate(plan: PlanLike, kind: str = "random", *, seed: int = 0, output: Optional[Path] = None,
           operators: Optional[Path] = None) -> PlanFiles:
    """The plan with one fault put into it (docs/bugs.md); `description` says which."""
    if output is None:
        keep: Any = tempfile.TemporaryDirectory(prefix="planproof-")
        path = os.path.join(keep.name, "mutant.plan")
    else:
        path, keep = os.fspath(output), None
    with written(plan) as files:
        options = _options(dict(kind=kind, seed=seed, output=path, operators=operators))
        try:
            said = checked(["mutate", *options, "--", *files.paths])
        except CommandError as error:
            raise CommandError(files.translate(str(error)), error.exit_code) from None
        return PlanFiles((path,), files.translate(said).strip(), keep)


def show(plan: PlanLike, *, operators: bool = False) -> str:
    """What is in a plan: devices, axes, sizes, required outputs; with `operators` each of them."""
    with written(plan) as files:
        return files.translate(checked(["show", *_options(dict(operators=operators)), "--",
                                        *files.paths]))
