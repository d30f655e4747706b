"""What is done about tensors of other kinds in an operator that a mode of the dispatcher sees."""
from __future__ import annotations

from enum import Enum
from typing import Any, Iterable

import torch
from torch._subclasses.fake_tensor import FakeTensor

_DISABLED = torch._C._disabled_torch_dispatch_impl


class Seen(Enum):
    """An operator as a mode sees it."""

    #: Of plain tensors: one that computes.
    PLAIN = 1
    #: Of DTensor and the like: what they consist of comes back in further operators.
    WRAPPED = 2
    #: Of FakeTensors, by which frameworks reason about shapes (DTensor's sharding propagation, torch.compile): nothing of the program's.
    #: It runs as it would without the mode: where a mode asks FakeTensor to go first, both would refuse.
    FAKE = 3


def seen(types: Iterable[type]) -> Seen:
    """How an operator of tensors of these types is seen."""
    kinds = list(types)
    if any(issubclass(kind, FakeTensor) for kind in kinds):
        return Seen.FAKE
    if any(getattr(kind, "__torch_dispatch__", _DISABLED) is not _DISABLED for kind in kinds):
        return Seen.WRAPPED
    return Seen.PLAIN


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without elements."""
    return isinstance(value, torch.Tensor) and (value.is_meta or isinstance(value, FakeTensor))
