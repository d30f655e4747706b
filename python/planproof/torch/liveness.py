"""Which storages' contents before the step are never read: buffers that are used again and again."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set

import numpy
from numpy.lib.stride_tricks import as_strided

#: Their first argument is written and not read.
_OVERWRITES = ("aten.copy_.default", "aten.zero_.default", "aten.fill_.Scalar",
               "aten.fill_.Tensor")


#: Their first argument is not read if `beta` is 0.
_SCALED = ("aten.baddbmm.default", "aten.addmm.default", "aten.addmv.default", "aten.addbmm.default")


def _tensors(value: Any) -> Iterator[int]:
    if isinstance(value, list):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict) and "tensor" in value:
        yield value["tensor"]


def _items(value: Any) -> Iterator[int]:
    """Numbers that left tensors, among arguments and within what was computed of them."""
    if isinstance(value, list):
        for each in value:
            yield from _items(each)
    elif isinstance(value, dict):
        if isinstance(value.get("item"), int):
            yield value["item"]
        for each in value.values():
            if isinstance(each, (list, dict)):
                yield from _items(each)


def _read(entry: Mapping[str, Any]) -> Iterator[int]:
    """Tensors that an operator reads; one that it only writes is not among them."""
    if "collective" in entry:
        yield from entry["in"]
        return
    unscaled = entry["op"] in _SCALED and entry.get("kwargs", {}).get("beta", 1) == 0
    skip = 1 if entry["op"] in _OVERWRITES or unscaled else 0
    if entry["op"] == "fsdp.all_gather_copy_in.default":
        yield from _tensors(entry["args"][0])
        return
    for value in entry.get("args", [])[skip:]:
        yield from _tensors(value)
    for key, value in entry.get("kwargs", {}).items():
        if key != "out":
            yield from _tensors(value)


def _written(entry: Mapping[str, Any]) -> Iterator[int]:
    if "collective" in entry:
        yield from entry["out"]
    else:
        yield from entry.get("writes", [])
        yield from _tensors(entry["out"])


class _Elements:
    """Which elements of storages have been written in a log so far, and which were read before."""

    def __init__(self, storages: Set[int], sizes: Mapping[int, int], tensors: Sequence[List[Any]]) -> None:
        self.written: Dict[int, numpy.ndarray] = {storage: numpy.zeros(sizes[storage], dtype=bool) for storage in storages}
        self.read: Dict[int, numpy.ndarray] = {storage: numpy.zeros(sizes[storage], dtype=bool) for storage in storages}
        self._tensors = tensors

    def _of(self, masks: Mapping[int, numpy.ndarray], tensor: int) -> Any:
        storage, dtype, offset, shape, strides = self._tensors[tensor][:5]
        if dtype.startswith("complex"):
            shape, offset = [*shape, 2], 2 * offset
            strides = [*(2 * stride for stride in strides), 1]
        return as_strided(masks[storage][offset:], shape, strides)

    def follow(self, operators: Sequence[Mapping[str, Any]], results: Sequence[int]) -> None:
        """Runs through a log; `results` are read in the end."""
        for entry in operators:
            if "wait" in entry:
                continue
            for tensor in _read(entry):
                self._reads(tensor)
            for tensor in _written(entry):
                if self._tensors[tensor][0] in self.written:
                    self._of(self.written, tensor)[...] = True
        for tensor in results:
            self._reads(tensor)

    def _reads(self, tensor: int) -> None:
        if self._tensors[tensor][0] in self.written:
            mask = self._of(self.read, tensor)
            mask |= ~self._of(self.written, tensor)


def read_before_written(storages: Set[int], sizes: Mapping[int, int],
                        tensors: Sequence[List[Any]], operators: Sequence[Mapping[str, Any]],
                        results: Sequence[int]) -> Set[int]:
    """Those of `storages` of which an element is read before it is written; `sizes` in elements.
    `results`: tensors that are read in the end."""
    elements = _Elements(storages, sizes, tensors)
    elements.follow(operators, results)
    return {storage for storage in storages if elements.read[storage].any()}


def read_and_written_later(storages: Set[int], sizes: Mapping[int, int], tensors: Sequence[List[Any]],
                           operators: Sequence[Mapping[str, Any]]) -> Set[int]:
    """Those of `storages` of which an element is read, and written later: what the next iteration reads there is another
    number."""
    elements = _Elements(storages, sizes, tensors)
    elements.follow(operators, ())
    return {storage for storage in storages if (elements.read[storage] & elements.written[storage]).any()}


def what_feeds(storages: Set[int], tensors: Sequence[List[Any]], operators: Sequence[Mapping[str, Any]],
               results: Sequence[int]) -> Set[int]:
    """Those of `storages` from whose contents before the step one of the tensors `results` is computed."""
    feeding: Dict[int, Set[int]] = {storage: {storage} for storage in storages}  # by storage, what it depends on
    items: Dict[int, Set[int]] = {}  # the same of numbers that left tensors
    for entry in operators:
        if "wait" in entry:
            continue
        read: Set[int] = set()
        for tensor in _read(entry):
            read |= feeding.get(tensors[tensor][0], set())
        for item in _items([entry.get("args"), entry.get("kwargs")]):
            read |= items.get(item, set())
        if "item" in entry:
            items[entry["item"]] = read
            continue
        for tensor in _written(entry) if read else ():
            feeding.setdefault(tensors[tensor][0], set()).update(read)
    found: Set[int] = set()
    for tensor in results:
        found |= feeding.get(tensors[tensor][0], set())
    return found
