"""Kernels that fuse what the reader knows by its parts."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import torch


@contextmanager
def separate_steps() -> Iterator[None]:
    """oneDNN runs an LSTM as one operator; without it PyTorch runs its steps, which are products, sigmoids and tangents. The program
    computes the same but for rounding; a replay has to run the same kernels as the recording."""
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(enabled)
