"""One run of a process that is monitored: puts hooks, facts and the journal together."""
from __future__ import annotations

import atexit
import os
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch
import torch.distributed as dist
from torch import nn

from planproof.errors import RecordingError
from planproof.torch.monitoring import holdings as held
from planproof.torch.monitoring.audits import Audited, Audits
from planproof.torch.monitoring.batches import Batch
from planproof.torch.monitoring.communication import Communication
from planproof.torch.monitoring.contributions import Contributions
from planproof.torch.monitoring.facts import Facts
from planproof.torch.monitoring.holdings import Holdings, class_name
from planproof.torch.monitoring.journal import Journal, Kind, Moment, Type
from planproof.torch.monitoring.losses import Losses
from planproof.torch.monitoring.model_hooks import ModelHooks, named_tensors
from planproof.torch.monitoring.optimizer_hooks import OptimizerHooks
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.states import Outputs, fingerprint_of_state, nonzero
from planproof.torch.monitoring.steps import Steps
from planproof.torch.monitoring.tables import Tables
from planproof.torch.monitoring.training_functions import TrainingFunctions
from planproof.torch.relations import Placement, Rename, unwrapped


def place_of_process() -> Tuple[int, int]:
    """Rank and number of ranks."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def _names_of(optimizers: Sequence[Any]) -> List[str]:
    """Classes, with a number from the second of a class on."""
    found: List[str] = []
    for each in optimizers:
        name, before = type(each).__name__, sum(type(other) is type(each) for other in optimizers[:len(found)])
        found.append(f"{name} {before + 1}" if before else name)
    return found


class Session:
    """Monitors models and optimizers until `close`."""

    def __init__(self, models: Sequence[nn.Module], optimizer: Any, directory: str, every: int,
                 rename: Optional[Rename], placement: Optional[Placement], audit: Audited = None) -> None:
        if every < 1:
            raise RecordingError(f"every is {every}: every how many steps value facts are taken, at least 1")
        self.models, self._rename, self._placement = list(models), rename, placement
        opened = held.opened(optimizer)
        self.optimizers = [each for each, _ in opened]
        self.rank, self.world = place_of_process()
        self.holdings = self._hold()
        self.device = next((entry.held().device.type for entry in self.holdings.entries), "cpu")
        self.modules = held.modules_of(self.models, rename)
        self.journal = Journal(directory, self.rank)
        names = _names_of(self.optimizers)
        self._write_header(every, [{"name": name, "class": class_name(each), "wrapped": [class_name(wrapper) for wrapper in wrappers]}
                                   for name, (each, wrappers) in zip(names, opened)])
        table = self.journal.tensors(self.holdings.encoded)
        self.steps = Steps(self.journal, every)
        self.facts = Facts(self.steps, self.holdings, table)
        self.batch, self._outputs = Batch(), Outputs(self.steps, self.holdings)
        self.audits = Audits(audit, directory, self.rank, self.models, self.optimizers, rename, placement, self.not_observed)
        self._contributions = Contributions(lambda: self.facts, self.audits.unseen)
        self.tables = Tables(self.steps, self.models, self.optimizers, self._hold, self._renew)
        self.tables.start(self.holdings)
        self._cleared: Set[int] = set()
        self._unseen = self._wrapped = False
        #: How often parameters had been written when an optimizer within a wrapper had stepped.
        self._versions: Optional[List[int]] = None
        self._patches = Patches()
        self._watch(names)
        for wrapper in {id(wrapper): wrapper for _, wrappers in opened for wrapper in wrappers}.values():
            self._watch_wrapper(wrapper)
        for what, why in self.holdings.not_observed:
            self.not_observed(what, why)
        for model in self.models:
            if isinstance(model, nn.parallel.DistributedDataParallel):
                self.not_observed("collectives of DistributedDataParallel", "its reducer calls them without Python")
        self.steps.last_fact = self.batch.taken
        self.steps.when_ended += [self._ended] if self.audits.none else [self._ended, self.audits.ended]
        self._start_step()
        self.journal.flush()
        atexit.register(self.steps.drain)

    def _hold(self) -> Holdings:
        return Holdings(self.models, self.optimizers, self._rename, self._placement)

    def _renew(self, holdings: Holdings) -> None:
        """The models have changed."""
        self.holdings = holdings
        self.steps.drain()  # steps that have ended are of the table before
        self.facts.renew(holdings, self.journal.tensors(holdings.encoded))
        for index in range(len(self.optimizers)):
            self._hooks.write_options(index, again=True)

    def _write_header(self, every: int, optimizers: List[Dict[str, Any]]) -> None:
        self.journal.json(Kind.HEADER, {
            "rank": self.rank, "world": self.world, "every": every, "torch": torch.__version__, "device": self.device,
            "program": held.digest(self.holdings, self.modules, self.optimizers), "start": time.time(),
            "modules": [[name, class_name(module)] for name, module in self.modules], "optimizers": optimizers})

    def _watch(self, names: Sequence[str]) -> None:
        unseen = self.audits.unseen
        self._hooks = OptimizerHooks(self.steps, self.optimizers, names, lambda: self.holdings, unseen(self._before_step),
                                     unseen(self._after_step))
        for index in range(len(self.optimizers)):
            self._hooks.write_options(index)
        self._calls = ModelHooks(self.steps, self.models, self.device, unseen(self._before_forward),
                                 unseen(self._waiting_gradients), unseen(self._outputs.take))
        for module in self._calls.compiled:
            self.not_observed(f"modules within {class_name(module)}", "they are in a compiled graph")
        inner = [unwrapped(model) for model in self.models]
        known = {id(model): str(number) if len(self.models) > 1 else "" for number, model in enumerate(self.models)}
        known.update({id(module): known[id(model)] for module, model in zip(inner, self.models)})
        self._functions = TrainingFunctions(self.steps, self._patches, self._hooks, known, unseen(self._before_clipping), self._clear,
                                            unseen(self._state_read))
        self._functions.watch_states(inner)
        self._losses = Losses(self.steps, self._patches, self._before_backward, unseen(self._of_loss))
        self._communication = Communication(self.steps, self._patches)

    def _watch_wrapper(self, wrapper: Any) -> None:
        """What wraps an optimizer may change parameters after that has stepped, as Lookahead does."""
        own = getattr(wrapper, "step", None)
        if own is None or not hasattr(wrapper, "__dict__"):
            return

        def step(*arguments: Any, **options: Any) -> Any:
            result = own(*arguments, **options)
            if self._versions is not None and self._versions != self._now():
                self.steps.add(Type.AVERAGED, 0, class_name(wrapper))
            self._versions = None
            return result

        self._wrapped = True
        self._patches.attribute(wrapper, "step", step)

    def _now(self) -> List[int]:
        """How often parameters have been written."""
        return [self.holdings.entries[number].object._version for number in self.holdings.parameters]

    def not_observed(self, what: str, why: str) -> None:
        """Says which facts this journal cannot have."""
        self.journal.json(Kind.NOT_OBSERVED, {"what": what, "why": why})

    def _start_step(self) -> None:
        self._begun = self._has_begin = False
        self._sampling = self.steps.sampled
        if self._sampling:
            self._calls.sample(self.modules)
            self._contributions.sample()
            self._outputs.start()

    def _ended(self, _: int) -> None:
        if self._sampling:
            self._calls.stop_sampling()
            self._contributions.stop()
        self._start_step()

    def _before_forward(self, module: nn.Module, arguments: Any) -> None:
        if not self.audits.none and torch.is_grad_enabled():
            self.audits.begins()
        if not self._begun:
            self._begun = True
            self.tables.check()
            if self.steps.sampled:
                self._take_begin()
        if self.steps.sampled and module.training and torch.is_grad_enabled():
            positional, options = arguments
            for name, tensor in named_tensors("", positional) + named_tensors("", options):
                self.batch.add(name, tensor)

    def _take_begin(self) -> None:
        if not self._has_begin:
            self._has_begin = True
            self.facts.parameters(Moment.BEGIN, self.holdings.parameters)

    def _waiting_gradients(self) -> int:
        """Gradients that are there before a forward pass, and not known to be zero."""
        if len(self._cleared) >= len(self.optimizers) and self._cleared:
            return 0
        found = [entry.object.grad for entry in self.holdings.entries
                 if not entry.buffer and not (entry.optimizers and self._cleared.issuperset(entry.optimizers))]
        return nonzero([gradient for gradient in found if gradient is not None])

    def _clear(self, _: bool, holder: Any) -> None:
        self.audits.begins()
        for index, optimizer in enumerate(self.optimizers):
            if holder is optimizer or isinstance(holder, nn.Module):
                self._cleared.add(index)

    def _before_backward(self) -> None:
        self._cleared = set()

    def _of_loss(self, name: str, arguments: Sequence[Any], options: Dict[str, Any]) -> None:
        target = options.get("target", arguments[1] if len(arguments) > 1 else None)
        if self.steps.sampled and torch.is_grad_enabled() and isinstance(target, torch.Tensor) and not target.requires_grad:
            self.batch.add(f"{name}.target", target)

    def _before_clipping(self, parameters: Iterable[torch.Tensor]) -> None:
        if self.steps.sampled:
            numbers = {self.holdings.by_identity.get(id(each)) for each in parameters}
            self.facts.gradients(Moment.CLIP, [number for number in self.holdings.parameters if number in numbers])

    def _of_optimizer(self, index: int) -> List[int]:
        """The parameters of an optimizer; the first has those that no optimizer has."""
        return [number for number in self.holdings.parameters
                if index in self.holdings.entries[number].optimizers or
                (index == 0 and not self.holdings.entries[number].optimizers)]

    def _before_step(self, index: int) -> None:
        self.tables.check(again=self._begun)
        if not self._begun and not self._unseen:
            self._unseen = True
            self.not_observed("calls of the models", "an optimizer stepped without any: they are in a compiled graph, or not made by calls")
        if self.steps.sampled:
            numbers = self._of_optimizer(index)
            scaled = getattr(self.optimizers[index], "grad_scale", None) is not None
            if not scaled:
                self.facts.gradients(Moment.BEFORE, numbers)
                self.facts.elements(Moment.BEFORE, numbers)
            self.facts.parameters(Moment.BEFORE, numbers)
            self.facts.states(Moment.BEFORE, self.optimizers[index], numbers, not scaled)

    def _after_step(self, index: int) -> None:
        if self._wrapped:
            self._versions = self._now()
        if not self.steps.sampled and not self.steps.before_sampled:
            return
        numbers = self._of_optimizer(index)
        self.facts.parameters(Moment.AFTER, numbers)
        if self.steps.sampled:
            self.facts.elements(Moment.AFTER, numbers)
            self.facts.states(Moment.AFTER, self.optimizers[index], numbers)

    def _state_read(self, model: nn.Module, state: Any, prefix: str) -> None:
        """The state of a model was read between its steps: its fingerprint, and that of the parameters that it should be of."""
        number = next(number for number, each in enumerate(self.models) if model is each or model is unwrapped(each))
        found = fingerprint_of_state(self.holdings, number, state, prefix, self.facts)
        if found is None:
            self.not_observed(f"state of {class_name(model)}", "it lacks parameters, or has them in another type or other parts than this process")
        elif self.steps.between():
            self._take_begin()
            self.steps.add(Type.STATE_READ, 0, class_name(model), c=found)

    def loss(self, value: Any) -> None:
        """The program says what its loss is."""
        self._losses.said(value)

    def close(self, reason: str, exception: Optional[str] = None) -> None:
        """Takes all hooks away and ends the journal."""
        self.audits.finish()
        self._functions.closed = self._losses.closed = self._communication.closed = True
        self._calls.close()
        self._contributions.stop()
        self.tables.close()
        self._hooks.close()
        self._patches.restore()
        steps = self.steps.number
        self.steps.when_ended = []
        atexit.unregister(self.steps.drain)
        self.steps.finish()
        content: Dict[str, Any] = {"reason": reason, "steps": steps}
        if exception is not None:
            content["exception"] = exception
        self.journal.json(Kind.CLOSE, content)
        self.journal.close()
