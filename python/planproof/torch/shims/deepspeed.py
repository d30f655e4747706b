"""DeepSpeed 0.19 without a GPU, and where its parameters and optimizer states lie.

    from planproof.torch.shims import deepspeed as shim
    shim.install()                             # before deepspeed is imported
    ...
    engine, *_ = deepspeed.initialize(...)
    held = shim.Held(engine)
    record(step, path, model=held.model, optimizer=held, placement=held.model.placement)

The accelerator is the CPU. ZeRO's optimizer owns one flat piece of memory, which begins and ends within parameters: its states
are named as pieces of the parameters' states. It counts its steps once for all parameters, so that counter has no name and is a
constant of the recording; have the single-process program's optimizer seen by `WithoutCounters`, too. The optimizer works on a
copy of its piece, which it writes back after the step. Here it works on the piece itself, as stage 3 does on a GPU if the
types are the same; DeepSpeed's checkpoints and `safe_get_full_fp32_param` would show the copy as it was. Where parameters are bfloat16
the copy is a master in float32: a state of its parameters, by the name of `master`. Have the single-process program be an engine, too.
Gradients are gone when a step has ended: `held.gradients()` has those that the optimizer was given."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from planproof.errors import RecordingError
from planproof.torch import relations
from planproof.torch.relations import Part

VERSION = "0.19"


def install() -> None:
    """Has DeepSpeed use the CPU."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed

    if not deepspeed.__version__.startswith(VERSION):
        raise RecordingError(f"the shim is for deepspeed {VERSION}, this is {deepspeed.__version__}")


class WithoutCounters:
    """An optimizer whose states have names except the counters of steps."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer

    @property
    def state(self) -> Dict[torch.Tensor, Dict[str, Any]]:
        return {key: _counted(content) for key, content in self.optimizer.state.items()}


class HeldModel:
    """The parameters of an engine's model as this rank holds them: whole, or in stage 3 its pieces of them."""

    def __init__(self, engine: Any) -> None:
        self.module = engine.module
        for name, value in self.module.named_parameters():
            if getattr(value, "ds_persist", False):
                # The step reads a copy that is gathered at its end: memory without a name.
                raise RecordingError(f"{name} is kept whole by ZeRO's stage 3, beside its pieces; say "
                                     "stage3_param_persistence_threshold=0")
        self.pieces = {name: _piece(value) for name, value in self.module.named_parameters()
                       if hasattr(value, "ds_tensor")}

    def named_parameters(self) -> Iterator[Tuple[str, torch.Tensor]]:
        for name, value in self.module.named_parameters():
            piece = self.pieces.get(name)
            if piece is None:
                yield name, value
            elif piece[0].numel():
                yield name, piece[0]

    def placement(self, name: str, _: torch.Tensor) -> Optional[Part]:
        """The part that this rank holds."""
        return self.pieces[name][1] if name in self.pieces else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


class Held:
    """What to name of an engine: its parameters, and as an optimizer the states of its optimizer, cut where parameters
    begin and end."""

    def __init__(self, engine: Any) -> None:
        self.model = HeldModel(engine)
        stage = engine.zero_optimization_stage()
        self._optimizer = engine.optimizer.optimizer if stage else engine.optimizer
        self._given: Dict[torch.Tensor, torch.Tensor] = {}
        #: The pieces of parameters of which the optimizer has masters, by these.
        self._of_masters: Dict[torch.Tensor, torch.Tensor] = {}
        if stage in (1, 2):
            self._share(engine.optimizer.single_partition_of_fp32_groups,
                   [pieces[dist.get_rank(group)] for pieces, group in
                    zip(engine.optimizer.parallel_partitioned_bit16_groups,
                        engine.optimizer.real_dp_process_group)])
        elif stage == 3:
            self._share(engine.optimizer.fp32_partitioned_groups_flat,
                   engine.optimizer.fp16_partitioned_groups_flat)
        self._optimizer.register_step_pre_hook(self._keep)

    def _share(self, copies: Sequence[torch.Tensor], pieces: Sequence[torch.Tensor]) -> None:
        """The optimizer works on its pieces of the parameters, of which it has copies. Masters of another type stay what they are."""
        for copy, piece in zip(copies, pieces):
            if copy.dtype != piece.dtype:
                if not torch.equal(copy.to(piece.dtype), piece):
                    raise RecordingError(f"the optimizer's {copy.dtype} copy of its parameters is no master of them")
                self._of_masters[copy] = piece
                continue
            if not torch.equal(copy, piece):
                raise RecordingError("the optimizer's copy of its parameters has other values")
            copy.data = piece

    def _keep(self, optimizer: Any, *_: Any) -> None:
        for group in optimizer.param_groups:
            for each in group["params"]:
                if each.grad is not None:
                    self._given[each] = each.grad

    @property
    def state(self) -> Dict[torch.Tensor, Dict[str, Any]]:
        found = {}
        for flat, content in self._optimizer.state.items():
            for _, parameter, own, start in self._pieces(flat):
                found[own] = {word: _cut(value, own, start) for word, value in
                              _counted(content).items() if isinstance(value, torch.Tensor)}
                if flat in self._of_masters:
                    found[own]["master"] = _cut(flat.detach(), own, start)
        return found

    def gradients(self) -> Dict[str, relations.Held]:
        """The gradients of the last step, by names of parameters: this rank's pieces, clipped."""
        found = {}
        for flat, gradient in self._given.items():
            for name, parameter, own, start in self._pieces(flat):
                part = self.model.placement(name, parameter)
                if own is not parameter and part is None:
                    part = Part(tuple(map(int, parameter.shape)),
                                flat=(own.storage_offset() - parameter.storage_offset(), own.numel()))
                found[name] = relations.held(_cut(gradient, own, start), part)
        return found

    def _pieces(self, flat: torch.Tensor) -> Iterator[Tuple[str, torch.Tensor, torch.Tensor, int]]:
        """The parameters in the optimizer's memory: name, tensor, the part of it there, and where that begins."""
        flat = self._of_masters.get(flat, flat)
        for name, parameter in self.model.named_parameters():
            if parameter is flat:
                yield name, parameter, parameter, 0
            else:
                piece = _common(flat, parameter)
                if piece is not None:
                    yield name, parameter, *piece


def _cut(value: torch.Tensor, own: torch.Tensor, start: int) -> torch.Tensor:
    """What belongs to a part, of a tensor as long as the optimizer's memory."""
    return value if value.shape == own.shape else value.view(-1)[start:start + own.numel()]


def _counted(content: Dict[str, Any]) -> Dict[str, Any]:
    return {word: value for word, value in content.items() if word != "step"}


def _piece(parameter: Any) -> Tuple[torch.Tensor, Part]:
    """This rank's piece of a parameter of stage 3, without what fills the last one up."""
    of = tuple(int(size) for size in parameter.ds_shape)
    length = int(parameter.ds_tensor.ds_numel)
    start = min(length * dist.get_rank(parameter.ds_process_group), int(parameter.ds_numel))
    own = parameter.ds_tensor.detach().view(-1)[:min(length, int(parameter.ds_numel) - start)]
    return own, Part(of, flat=(start, own.numel()))


def _common(flat: torch.Tensor, parameter: torch.Tensor) -> Optional[Tuple[torch.Tensor, int]]:
    """The part of a parameter's memory that a flat piece has, too, and where in the piece it begins."""
    if flat.untyped_storage()._cdata != parameter.untyped_storage()._cdata:
        return None
    start = int(max(flat.storage_offset(), parameter.storage_offset()))
    end = int(min(flat.storage_offset() + flat.numel(),
                  parameter.storage_offset() + parameter.numel()))
    if start >= end:
        return None
    whole = parameter.dim() == 1 and end - start == parameter.numel()
    own = parameter if whole else parameter.detach().as_strided((end - start,), (1,), start)
    return own, start - int(flat.storage_offset())
