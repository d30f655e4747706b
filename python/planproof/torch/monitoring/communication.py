"""Sees collectives by kind, group, operation and type."""
from __future__ import annotations

from typing import Any, Callable, Iterable, List, Optional, Sequence

import torch
import torch.distributed as dist

from planproof.torch.monitoring.hooks import in_backward
from planproof.torch.monitoring.journal import Type
from planproof.torch.monitoring.model_hooks import tensors_in
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.steps import Steps

WITHIN_BACKWARD = 1

#: Functions of torch.distributed; those that reduce have an operation.
_REDUCING = ("all_reduce", "all_reduce_coalesced", "reduce", "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single")
_MOVING = ("broadcast", "all_gather", "all_gather_into_tensor", "all_gather_single", "all_gather_coalesced", "gather", "scatter",
           "all_to_all", "all_to_all_single", "send", "recv", "isend", "irecv", "barrier", "broadcast_object_list", "all_gather_object",
           "gather_object", "scatter_object_list", "send_object_list", "recv_object_list")
#: Functions on tensors that are traced and differentiated: those of DTensor.
_FUNCTIONAL = ("all_reduce", "all_reduce_coalesced", "reduce_scatter_tensor", "reduce_scatter_single",
               "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced", "all_gather_tensor",
               "all_gather_single", "all_gather_single_coalesced", "all_gather_into_tensor_coalesced",
               "all_to_all_single", "broadcast")
_OPERATIONS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")


class Communication:
    """Wrappers of collectives."""

    def __init__(self, steps: Steps, patches: Patches) -> None:
        self._steps = steps
        self._depth = 0
        self.closed = False
        if not dist.is_available():
            return
        import torch.distributed._functional_collectives as functional
        import torch.distributed.distributed_c10d as c10d
        for name in (*_REDUCING, *_MOVING):
            patches.function(c10d, name, self._wrapper(name, name in _REDUCING))
        for name in _FUNCTIONAL:
            patches.function(functional, name, self._wrapper(name, "reduce" in name))

    def _wrapper(self, name: str, reduces: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **options: Any) -> Any:
                if torch.compiler.is_compiling() or self.closed or self._depth:
                    return original(*arguments, **options)
                self._seen(name, reduces, (*arguments, *options.values()))
                self._depth += 1
                try:
                    return original(*arguments, **options)
                finally:
                    self._depth -= 1
            return called
        return make

    def _seen(self, name: str, reduces: bool, arguments: Sequence[Any]) -> None:
        tensors = [each for value in arguments for each in tensors_in(value, 1)]
        operation = next((found for found in map(_operation, arguments) if found), "sum") if reduces else "-"
        kind = str(tensors[0].dtype)[len("torch."):] if tensors else "-"
        subject = f"{name} {_group(arguments)} {operation} {kind}"
        flags = WITHIN_BACKWARD * in_backward()
        elements = float(tensors[0].numel()) if tensors else 0.0
        last = self._steps.events[-1] if self._steps.events else None
        if last is not None and not self._steps.sampled and last.type == Type.COLLECTIVE and \
                (last.subject, last.flags) == (subject, flags):
            last.a, last.c = last.a + elements, last.c + 1
            return
        self._steps.add(Type.COLLECTIVE, flags, subject, elements, c=1)


def _operation(value: Any) -> Optional[str]:
    """The name of a reduction, if this is one."""
    if isinstance(value, str):
        return value.lower() if value.lower() in _OPERATIONS else None
    if isinstance(value, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
        name = str(getattr(value, "op", value)).rpartition(".")[2].lower()
        return name if name in _OPERATIONS else "sum"
    return None


def _group(arguments: Iterable[Any]) -> str:
    """The ranks of the first group among arguments, of all if there is none."""
    for value in arguments:
        ranks = _ranks(value)
        if ranks is not None:
            return "[" + ",".join(map(str, ranks)) + "]"
    return "[" + ",".join(map(str, range(dist.get_world_size()))) + "]" if dist.is_initialized() else "[]"


def _ranks(value: Any) -> Optional[List[int]]:
    try:
        if isinstance(value, dist.ProcessGroup):
            return list(dist.get_process_group_ranks(value))
        if isinstance(value, str) and value.lower() not in _OPERATIONS:
            return list(dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(value)))
        if isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "get_group"):
            return list(dist.get_process_group_ranks(value[0].get_group(value[1])))
        if hasattr(value, "get_group") and hasattr(value, "ndim") and value.ndim == 1:
            return list(dist.get_process_group_ranks(value.get_group()))
    except (ValueError, RuntimeError, TypeError, KeyError):
        return None
    return None
