"""The memory of a recorded program: storages with identities, tensors as views of them."""
from __future__ import annotations

import hashlib
from typing import Any, Dict, Iterable, List, Set

import torch

from planproof.errors import RecordingError
from planproof.torch.liveness import read_and_written_later, read_before_written, what_feeds
from planproof.torch.trace_file import View, encoded_view
from planproof.torch.trace_file import number as encoded_number

#: Constants of more elements are written as a digest.
LONGEST_VALUES = 4096

CONJUGATE, NEGATIVE = 1, 2

_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).replace("torch.", "")


class Memory:
    """Storages in the order in which they were met. All of them are kept alive, so that no address
    stands for two of them."""

    def __init__(self) -> None:
        self._numbers: Dict[int, int] = {}
        self._kept: List[torch.UntypedStorage] = []
        self._dtypes: List[torch.dtype] = []
        self._sizes: List[int] = []  # bytes; the largest, if it was resized
        self._views: Dict[View, int] = {}
        self._shown: List[View] = []  # by number
        self.initial: Dict[int, torch.Tensor] = {}  # bytes before the step
        self.carried: Set[int] = set()  # unnamed storages that an earlier iteration left

    def known(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._numbers

    def storage(self, tensor: torch.Tensor, existing: bool) -> int:
        """The number of the tensor's storage. A storage that is met for the first time and is
        `existing` has held its values since before the step."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        found = self._numbers.get(key)
        if found is not None:
            self._sizes[found] = max(self._sizes[found], storage.nbytes())
            return found
        found = self._numbers[key] = len(self._kept)
        self._kept.append(storage)
        self._dtypes.append(_REAL.get(tensor.dtype, tensor.dtype))
        self._sizes.append(storage.nbytes())
        if existing and storage.nbytes():
            self.initial[found] = torch.empty(0, dtype=torch.uint8).set_(storage).clone()
        return found

    def view(self, tensor: torch.Tensor, existing: bool) -> int:
        """The number of a tensor."""
        if tensor.layout != torch.strided:
            raise RecordingError(f"a tensor of layout {tensor.layout} cannot be recorded")
        number = self.storage(tensor, existing)
        if _REAL.get(tensor.dtype, tensor.dtype) != self._dtypes[number]:
            raise RecordingError(f"memory of {dtype_name(self._dtypes[number])} is looked at as "
                                 f"{dtype_name(tensor.dtype)}; bits cannot be recorded")
        flags = CONJUGATE * tensor.is_conj() + NEGATIVE * tensor.is_neg()
        view = (number, dtype_name(tensor.dtype),
                int(tensor.storage_offset()), tuple(map(int, tensor.shape)),
                tuple(map(int, tensor.stride())), flags)
        found = self._views.setdefault(view, len(self._shown))
        if found == len(self._shown):
            self._shown.append(view)
        return found

    def tensors(self) -> List[List[Any]]:
        """All tensors as the format has them."""
        return [encoded_view(view) for view in self._shown]

    def storages(self, named: List[int]) -> List[Dict[str, Any]]:
        """All storages as the format has them; those that are not `named` with their constants."""
        entries = []
        for index, dtype in enumerate(self._dtypes):
            entry: Dict[str, Any] = {"dtype": dtype_name(dtype),
                                     "size": self._sizes[index] // dtype.itemsize}
            if index in self.initial and index not in named:
                entry.update(_constant(self.initial[index], dtype))
                if index in self.carried:
                    entry["carried"] = True
            entries.append(entry)
        return entries

    def forget_unread(self, named: List[int], operators: List[Dict[str, Any]],
                      results: List[int]) -> None:
        """Contents before the step that no operator reads are nothing."""
        unnamed = set(self.initial) - set(named)
        for index in unnamed - self._read(unnamed, operators, results):
            del self.initial[index]

    def read(self, views: Iterable[int], operators: List[Dict[str, Any]],
             results: List[int]) -> Set[int]:
        """Of the storages that tensors show, those of which something from before the step is read."""
        return self._read({self.held(view) for view in views}, operators, results)

    def read_of(self, storages: Set[int], operators: List[Dict[str, Any]], results: List[int]) -> Set[int]:
        """The same of storages."""
        return self._read(storages, operators, results)

    def feeding(self, storages: Set[int], operators: List[Dict[str, Any]], results: List[int]) -> Set[int]:
        """Those of the storages from whose contents before the step results are computed."""
        return what_feeds(storages, self.tensors(), operators, results)

    def replaced(self, storages: Set[int], operators: List[Dict[str, Any]]) -> Set[int]:
        """Those of the storages of which the operators read an element, and write it later."""
        sizes = {index: self._sizes[index] // self._dtypes[index].itemsize for index in storages}
        return read_and_written_later(storages, sizes, self.tensors(), operators)

    def unchanged(self, storage: int) -> bool:
        """Whether a storage holds what it held before the step."""
        before, now = self.initial[storage], self._kept[storage]
        return before.numel() == now.nbytes() and torch.equal(before, torch.empty(0, dtype=torch.uint8).set_(now))

    def is_real(self, storage: int) -> bool:
        """Whether a storage holds real numbers."""
        return self._dtypes[storage].is_floating_point

    def dtype(self, storage: int) -> torch.dtype:
        """The real type of a storage's elements."""
        return self._dtypes[storage]

    def kept(self, storage: int) -> torch.UntypedStorage:
        """A storage by its number."""
        return self._kept[storage]

    def number_of(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's storage; -1 if nothing of it was met."""
        return self._numbers.get(tensor.untyped_storage()._cdata, -1)

    def _read(self, storages: Set[int], operators: List[Dict[str, Any]],
              results: List[int]) -> Set[int]:
        sizes = {index: self._sizes[index] // self._dtypes[index].itemsize for index in storages}
        return read_before_written(storages, sizes, self.tensors(), operators, results)

    def has_elements(self, view: int) -> bool:
        """Whether a tensor has any."""
        return 0 not in self._shown[view][3]

    def held(self, view: int) -> int:
        """The number of the storage that a tensor shows."""
        return self._shown[view][0]


def _constant(content: torch.Tensor, dtype: torch.dtype) -> Dict[str, Any]:
    values = content[:content.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    # Compared as bytes: 0.0 and -0.0 differ, and NaN is itself.
    pieces = values.view(torch.uint8).view(-1, dtype.itemsize)
    if values.numel() and bool((pieces == pieces[0]).all()):
        return {"uniform": _element(values[0])}
    if values.numel() <= LONGEST_VALUES:
        return {"values": [_element(value) for value in values]}
    return {"digest": hashlib.sha256(pieces.numpy().tobytes()).hexdigest()}


def _element(value: torch.Tensor) -> Any:
    element = value.item()
    return int(element) if isinstance(element, bool) else encoded_number(element)


def content(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in the order of the index, as bytes."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if plain.is_complex():
        plain = torch.view_as_real(plain).reshape(-1)
    return plain.clone(memory_format=torch.contiguous_format).view(torch.uint8)
