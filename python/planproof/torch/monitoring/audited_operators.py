"""Records the operators of one step of a run that goes on: nothing that it computes is changed, and nothing is kept alive."""
from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode, _push_mode
from torch.utils._pytree import tree_leaves

from planproof.torch import collectives
from planproof.torch.draws import Draws
from planproof.torch.memory import Memory
from planproof.torch.places import Places
from planproof.torch.recorder import (_OTHER_MEMORY, _TO_PYTHON, _WITHOUT_EFFECT, _WRAPPERS, Recorder, _on_meta, _running_statistics,
                                      _writes_unannounced, _written)
from planproof.torch.subclasses import Seen, seen


class AuditedMemory(Memory):
    """Storages by identity, each for as long as the run keeps it. Contents are not copied."""

    def storage(self, tensor: torch.Tensor, existing: bool) -> int:
        """The number of the tensor's storage."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._numbers:
            found = super().storage(tensor, False)
            self._kept[found] = StorageWeakRef(storage)  # type: ignore[call-overload]  # its address is no other's as long as this is
        return super().storage(tensor, False)


class AuditedPlaces(Places):
    """Places in a run that goes on: recording may begin at the end of an optimizer's step."""

    #: Before the first clearing of gradients or call of a model.
    between = True

    def _stop(self, *_: Any) -> None:
        self._in_optimizer = max(0, self._in_optimizer - 1)

    def _phase(self, backward: bool) -> str:
        return "between" if self.between else super()._phase(backward)


class AuditRecorder(Recorder):
    """Sees operators between `start` and `stop`. An error of its own ends the recording (`failure`), never the run."""

    def __init__(self, modules: Dict[int, str], parameters: Dict[int, str]) -> None:
        self.places: AuditedPlaces
        super().__init__(AuditedMemory(), AuditedPlaces(modules, parameters), Draws(None, [], -1, None))
        self.failure: Optional[str] = None
        self._hooks = ExitStack()

    def start(self) -> None:
        """From now on."""
        if _get_current_dispatch_mode_stack():
            self.failure = "another dispatch mode is active when the step begins"
            return
        self._hooks.enter_context(self.places.followed())
        self._hooks.enter_context(self._waits())
        _push_mode(self)

    def stop(self) -> None:
        """Until now."""
        self._over = True
        self._hooks.close()
        above: List[Any] = []
        while self in _get_current_dispatch_mode_stack():
            mode = _pop_mode()
            if mode is not self:
                above.append(mode)
        for mode in reversed(above):
            _push_mode(mode)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        kind = seen(types)
        if kind is Seen.WRAPPED:
            return NotImplemented
        if kind is Seen.FAKE or self.failure or self._suspended() or self._over or func.namespace in _WITHOUT_EFFECT:
            return func(*args, **kwargs)
        if func._schema.name.startswith("_c10d_functional::wait_tensor") or _on_meta((args, kwargs)):
            return func(*args, **kwargs)
        if collectives.communicates(func):
            return self._communicate(func, args, kwargs)
        return self._compute(func, args, kwargs)

    def _communicate(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        try:
            place, call = self.places.current(), collectives.read(func, args, kwargs, result)
            for exchange in call.exchanges:
                self._append_exchange(func, call, exchange, place)
        except Exception as error:  # the run goes on
            self._failed(error)
        return result

    def _compute(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        schema = func._schema
        if schema.name in _OTHER_MEMORY + _WRAPPERS + _TO_PYTHON or torch.Tag.inplace_view in func.tags:
            return func(*args, **kwargs)
        try:
            place, passed = self.places.current(), [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            entry = self._encoded_call(func, args, kwargs)
            writes = [self._view(tensor, True) for tensor in _written(schema, args, kwargs) + _running_statistics(schema, args, kwargs)]
        except Exception as error:
            self._failed(error)
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        try:
            self._computed(func, entry, writes, passed, result, place)
        except Exception as error:
            self._failed(error)
        return result

    def _computed(self, func: Any, entry: Dict[str, Any], writes: List[int], passed: Sequence[torch.Tensor], result: Any, place: Any) -> None:
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if not (made or writes):
            return
        shared = {tensor.untyped_storage()._cdata for tensor in passed}
        if func.namespace == "aten" and not writes and all(tensor.untyped_storage()._cdata in shared for tensor in made):
            return  # a view
        entry["out"] = [self._result(each) for each in (result if isinstance(result, (tuple, list)) else [] if result is None else [result])]
        writes += [self._view(tensor, False) for tensor in _writes_unannounced(func, result)]
        if writes:
            entry["writes"] = writes
        self._append(entry, place)

    def _failed(self, error: Exception) -> None:
        self.failure = self.failure or f"{type(error).__name__}: {error}".splitlines()[0]

    def trace(self, inputs: List[Dict[str, Any]], results: List[Dict[str, Any]], axes: Sequence[Any], torch_version: str) -> Mapping[str, Any]:
        """What was recorded, in the format of traces. `inputs` and `results` name memory (docs/torch-trace.md)."""
        distributed = dist.is_available() and dist.is_initialized()
        named = [self.memory.held(entry["tensor"]) for entry in inputs]
        return {"planproof_torch_trace": 2, "torch": torch_version, "rank": dist.get_rank() if distributed else 0,
                "world": dist.get_world_size() if distributed else 1, "axes": list(axes), "groups": self.groups.ranks,
                "strings": self.strings.texts, "storages": self.memory.storages(named), "tensors": self.memory.tensors(),
                "inputs": inputs, "operators": self.operators, "results": results, "notes": []}
