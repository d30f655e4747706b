"""Indices that a program computes from real numbers: which experts a router chooses."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

import torch

#: Elements of a result that are recorded.
MOST = 4096
_CONVERSIONS = ("aten::_to_copy", "aten::copy_", "aten::to")


def chosen_indices(func: Any, passed: Sequence[torch.Tensor],
                   results: Sequence[Any]) -> Optional[List[Optional[List[int]]]]:
    """For each result its elements in order, if they are indices that were computed from real
    numbers; None if no result is."""
    if func._schema.name in _CONVERSIONS or not any(t.is_floating_point() for t in passed):
        return None
    values = [each.detach().reshape(-1).tolist() if _is_index(each) else None for each in results]
    return values if any(each is not None for each in values) else None


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.int64 and value.dim() > 0 \
        and 0 < value.numel() <= MOST
