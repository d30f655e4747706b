"""Audited steps of a run: which steps they are, where they begin and end, and their files (docs/monitor-format.md)."""
from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union

import torch
from torch import nn

from planproof.errors import RecordingError
from planproof.torch.beginning import parameters_of
from planproof.torch.monitoring.audited_operators import AuditRecorder
from planproof.torch.monitoring.model_hooks import is_compiled
from planproof.torch.relations import Parameter, Placement, Rename, module_names, states
from planproof.torch.trace_file import save

#: Every how many steps, which steps, or none.
Audited = Union[None, int, Sequence[int]]
_Called = TypeVar("_Called", bound=Callable[..., Any])


def audited_steps(audit: Audited) -> Callable[[int], bool]:
    """Whether a step is audited. Step 0, in which optimizers make their states, is none."""
    if audit is None:
        return lambda _: False
    if isinstance(audit, int) and not isinstance(audit, bool):
        if audit < 1:
            raise RecordingError(f"audit is {audit}: every how many steps one is audited, at least 1, or a list of steps")
        return lambda step: step > 0 and step % int(audit) == 0
    chosen = set(audit)
    if not all(isinstance(step, int) and step > 0 for step in chosen):
        raise RecordingError("audit has steps that are not whole numbers above 0: in step 0 optimizers make their states")
    return lambda step: step in chosen


class Audits:
    """Records audited steps, from the end of the last optimizer's step before it to the first clearing of gradients or call of a model
    after the step's own. What comes before the first of these in it has the phase `between`."""

    def __init__(self, audit: Audited, directory: str, rank: int, models: Sequence[nn.Module], optimizers: Sequence[Any],
                 rename: Optional[Rename], placement: Optional[Placement], not_observed: Callable[[str, str], None]) -> None:
        self._wanted, self.none = audited_steps(audit), audit is None
        self._models, self._optimizers, self._rename, self._placement = list(models), list(optimizers), rename, placement
        self._directory, self._rank, self._not_observed = directory, rank, not_observed
        self._recorder: Optional[AuditRecorder] = None
        self._inputs: List[Dict[str, Any]] = []
        self._step = 0
        self._ended = False

    def unseen(self, function: _Called) -> _Called:
        """The same function; operators that it calls are the monitor's own."""
        if self.none:
            return function

        @functools.wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            if self._recorder is None:
                return function(*arguments, **options)
            with self._recorder.suspended():
                return function(*arguments, **options)
        return called  # type: ignore[return-value]

    def ended(self, step: int) -> None:
        """This step has ended by its last optimizer's."""
        self._ended = self._recorder is not None
        if self._wanted(step + 1):
            if self._ended:
                self.finish()
            self._start(step + 1)

    def begins(self) -> None:
        """Gradients are about to be cleared, or a model to be called."""
        if self._ended:
            self.finish()
        elif self._recorder is not None:
            self._recorder.places.between = False

    def _start(self, step: int) -> None:
        if _is_compiled(self._models):
            self._not_observed("audited steps", "operators within compiled graphs do not pass the dispatcher")
            self._wanted = audited_steps(None)
            return
        modules: Dict[int, str] = {}
        for model in self._models:
            modules.update(module_names(model, self._rename))
        parameters = self._parameters()
        self._step, self._recorder = step, AuditRecorder(modules, {id(each.object): each.name for each in parameters})
        self._inputs = [self._named(role, name, tensor, True, part) for role, name, tensor, part in self._held(parameters)]
        self._recorder.start()

    def _parameters(self) -> List[Parameter]:
        return parameters_of(self._models, self._rename, self._placement)

    def _held(self, parameters: Sequence[Parameter]) -> List[Any]:
        found = [(each.role, each.name, each.held().tensor, each.held().part) for each in parameters]
        for optimizer in self._optimizers:
            found += [("state", name, value.tensor, value.part) for name, _, value in states(optimizer, parameters)]
        names = set()
        return [each for each in found if not (each[1] in names or names.add(each[1]))]  # type: ignore[func-returns-value]

    def _named(self, kind: str, name: str, tensor: torch.Tensor, existing: bool, part: Any) -> Dict[str, Any]:
        assert self._recorder is not None
        return {"role" if existing else "kind": kind, "name": name, "tensor": self._recorder.memory.view(tensor.detach(), existing),
                **part.encoded()}

    def finish(self) -> None:
        """Writes the step that was recorded, if one was and has ended."""
        recorder = self._recorder
        if recorder is None:
            return
        recorder.stop()
        complete, self._ended = self._ended, False
        try:
            if recorder.failure is None and complete:
                results = [self._named("updated", name, tensor, False, part) for _, name, tensor, part in self._held(self._parameters())
                           if recorder.memory.known(tensor)]
                path = os.path.join(self._directory, f"rank{self._rank:05d}.step{self._step:012d}.trace")
                save(dict(recorder.trace(self._inputs, results, [], torch.__version__)), path + ".part")
                os.replace(path + ".part", path)
        except Exception as error:  # the run goes on
            recorder.failure = f"{type(error).__name__}: {error}".splitlines()[0]
        finally:
            self._recorder = None
        if recorder.failure is not None:
            self._not_observed("an audited step", recorder.failure)


def _is_compiled(models: Sequence[nn.Module]) -> bool:
    dynamo = sys.modules.get("torch._dynamo")
    return (dynamo is not None and bool(dynamo.utils.counters["frames"]["ok"])) or any(
        is_compiled(module) for model in models for module in model.modules())
