"""Fingerprints of what a model and its loss function get in a sampled step, and by which shifts integer inputs equal each other."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch

from planproof.torch.monitoring.device_sums import Fetched
from planproof.torch.monitoring.journal import Frame, Kind
from planproof.torch.monitoring.sums import HostSums, Slot
from planproof.torch.relations import Part, local

#: Inputs of a step beyond these are not looked at, nor are shifts by more.
MOST_INPUTS, FARTHEST_SHIFT = 64, 4
#: Larger inputs have no fingerprint.
MOST_ELEMENTS = 1 << 24
#: On a device, inputs of more elements are not fetched.
MOST_FETCHED = 1 << 20
#: Labels that loss functions leave out, unless they are told otherwise.
IGNORED = -100


class Batch:
    """Inputs of one step."""

    def __init__(self) -> None:
        self._sums = HostSums(0)
        self._inputs: List[Dict[str, Any]] = []
        self._integers: List[Tuple[str, torch.Tensor]] = []
        #: Inputs that are on their way from a device.
        self._fetched: List[Tuple[str, Fetched]] = []

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Takes an input in. A name that was used in this step gets a number."""
        tensor = local(tensor.detach())
        if tensor.device.type not in ("cpu", "meta") and 0 < tensor.numel() <= MOST_FETCHED and len(self._fetched) < MOST_INPUTS:
            self._fetched.append((name, Fetched(tensor)))
            return
        if len(self._inputs) >= MOST_INPUTS or not 0 < tensor.numel() <= MOST_ELEMENTS or tensor.device.type == "meta" or \
                tensor.layout != torch.strided:
            return
        same = sum(each["name"] == name or each["name"].startswith(name + "#") for each in self._inputs)
        name = f"{name}#{same + 1}" if same else name
        sums = self._sums.measure([Slot(name.partition("#")[0], Part(tuple(tensor.shape)))], [tensor])
        self._sums.forget()
        shifts: List[Tuple[str, int]] = []
        if not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.bool and tensor.dim():
            shifts = [(other, k) for other, values in self._integers for k in _shifts(tensor, values)]
            self._integers.append((name, tensor))
        self._inputs.append({"name": name, "dtype": str(tensor.dtype)[len("torch."):], "shape": list(tensor.shape),
                             "fingerprint": f"{int(sums.fingerprints[0]):016x}", "shifts": shifts})

    def taken(self, step: int) -> Optional[Frame]:
        """The frame of the step's inputs; None if there were none. Starts anew."""
        if not self._inputs and not self._fetched:
            return None
        own = Batch()
        own._inputs, own._integers, own._fetched = self._inputs, self._integers, self._fetched
        self._inputs, self._integers, self._fetched = [], [], []

        def content(wait: bool) -> Optional[Dict[str, Any]]:
            if not wait and not all([each.ready() for _, each in own._fetched]):
                return None
            for name, each in own._fetched:
                own.add(name, each.tensor())
            return {"step": step, "inputs": own._inputs}
        return Frame(Kind.BATCH, None, content)


def _shifts(these: torch.Tensor, others: torch.Tensor) -> List[int]:
    """All k for which these at t are the others at t + k along the last dimension, where they are not left out."""
    if these.shape != others.shape:
        if these.numel() == others.numel():
            these = these.reshape(others.shape)
        elif these.shape[:-1] != others.shape[:-1]:
            return []
    found = []
    for k in range(-FARTHEST_SHIFT, FARTHEST_SHIFT + 1):
        length = min(these.shape[-1] - max(0, -k), others.shape[-1] - max(0, k))
        if length <= 0:
            continue
        own = these[..., max(0, -k):max(0, -k) + length]
        counts = own != IGNORED
        if bool(counts.any()) and bool(((own == others[..., max(0, k):max(0, k) + length]) | ~counts).all()):
            found.append(k)
    return found
