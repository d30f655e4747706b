"""Norms, sketches and fingerprints of tensors on an accelerator: computed there, and fetched when they are ready, without waiting."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy
import torch

from planproof.torch.monitoring.sums import Slot, Sums, real_elements
from planproof.torch.monitoring.weights import SKETCHES, halves, rectangles

#: Of the parameters' memory, what a temporary may take, and bytes that it may always take.
TEMPORARY_PART, LEAST_TEMPORARY = 0.02, 1 << 20
#: A temporary holds elements twice, as doubles.
_BYTES = 16
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Fetched:
    """A copy in the host's memory of a tensor on a device. It is on its way until `ready`."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._event: Optional[Any] = None
        if tensor.device.type != "cuda":
            self._host = tensor.to("cpu", copy=True)
            return
        self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True, device="cpu")
        self._host.copy_(tensor, non_blocking=True)
        self._event = torch.cuda.Event()
        self._event.record()

    def ready(self) -> bool:
        return self._event is None or bool(self._event.query())

    def numbers(self) -> numpy.ndarray:
        """The numbers; waits for them if they are not here yet."""
        if self._event is not None:
            self._event.synchronize()
        return self._host.numpy()  # type: ignore[no-any-return]

    def tensor(self) -> torch.Tensor:
        """The same as a tensor."""
        self.numbers()
        return self._host


class DeviceSums:
    """Sums of tensors where they are, in double precision. Factors of weights are kept on the device."""

    def __init__(self, bytes_of_parameters: int) -> None:
        self._chunk = max(int(TEMPORARY_PART * bytes_of_parameters), LEAST_TEMPORARY) // _BYTES
        self._most = max(int(TEMPORARY_PART * bytes_of_parameters), LEAST_TEMPORARY)
        self._kept: Dict[Tuple[str, bool], Any] = {}
        self._bytes = 0

    def measure(self, slots: Sequence[Slot], tensors: Sequence[torch.Tensor]) -> Callable[[bool], Optional[Sums]]:
        """Starts to sum local tensors. The result gives the sums, or None as long as they are on their way."""
        with torch._C._DisableAutocast(), torch.no_grad():
            rows = [self._sum(slot, tensor.detach()) for slot, tensor in zip(slots, tensors)]
            fetched = Fetched(torch.stack(rows)) if rows else None

        def sums(wait: bool) -> Optional[Sums]:
            if fetched is None:
                return Sums.zeros(0)
            if not wait and not fetched.ready():
                return None
            table = fetched.numbers()
            real = table[:, :1 + SKETCHES].view(numpy.float64)
            with numpy.errstate(invalid="ignore"):
                return Sums(numpy.sqrt(real[:, 0]), real[:, 1:].T.copy(),
                            table[:, 1 + SKETCHES].copy().view(numpy.uint64)).hide_what_is_not_finite()
        return sums

    def _sum(self, slot: Slot, tensor: torch.Tensor) -> torch.Tensor:
        """The sum of squares, sketches, and the fingerprint: int64 [SKETCHES + 2], of which all but the last are bits of doubles."""
        real = real_elements(tensor)
        squares = torch.zeros((), dtype=torch.float64, device=tensor.device)
        sketches = torch.zeros(SKETCHES, dtype=torch.float64, device=tensor.device)
        fingerprint = torch.zeros((), dtype=torch.int64, device=tensor.device)
        for (start, count), left, right, left_print, right_print in self._pieces(slot, tensor):
            columns = right.shape[1]
            matrix = (real if count == real.numel() else real.reshape(-1)[start:start + count]).reshape(-1, columns)
            step = max(1, self._chunk // columns)
            for first in range(0, matrix.shape[0], step):
                chunk = matrix[first:first + step]
                wide = chunk.to(torch.float64)
                squares += wide.square().sum()
                sketches += ((left[:, first:first + step].to(torch.float64) @ wide) * right).sum(1)
                integers = _integers(chunk) * right_print
                fingerprint += (integers.sum(1) * left_print[first:first + step]).sum()
        return torch.cat([squares.reshape(1).view(torch.int64), sketches.view(torch.int64), fingerprint.reshape(1)])

    def _pieces(self, slot: Slot, tensor: torch.Tensor) -> List[Any]:
        key = (slot.key, tensor.is_complex())
        kept = self._kept.get(key)
        if kept is None:
            kept = []
            size = 0
            for piece in rectangles(slot.part, tensor.is_complex()):
                rows, columns = halves(slot.name, piece.indices)
                kept.append(((piece.start, piece.count), *(torch.from_numpy(each).to(tensor.device) for each in (
                    rows.sketch, columns.sketch, rows.fingerprint.view(numpy.int64), columns.fingerprint.view(numpy.int64)))))
                size += rows.nbytes() + columns.nbytes()
            if self._bytes + size <= self._most:
                self._kept[key] = kept
                self._bytes += size
        return kept  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Frees factors: other tensors are to come."""
        self._kept.clear()
        self._bytes = 0


def _integers(tensor: torch.Tensor) -> torch.Tensor:
    """The elements' bits, unsigned, as int64: their sums wrap around alike."""
    plain = tensor.contiguous().view(_INTEGERS[tensor.element_size()]).to(torch.int64)
    return plain & ((1 << 8 * tensor.element_size()) - 1) if tensor.element_size() < 8 else plain
