"""Sketches: sums of a tensor's elements with signs that are hashed from their positions.

Two tensors with the same sketch hold the same numbers in the same places, except by a chance of about 1 in 2^60 of an accident of rounding: a
shift, a permutation or other strides change signs, which a norm does not see. Sketches of parts add up to that of the whole, since
signs depend on the position in the whole."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

import numpy
import torch
from torch.utils._pytree import tree_leaves

from planproof.torch.relations import Part

#: Tensors of more bytes travel as sketches.
LARGEST_IN_FULL = 16 << 20
#: Results of operators with more elements have no sketch.
LARGEST_RESULT = 1 << 22
#: Sums with different signs.
SUMS = 4

#: Operators whose results, or some of them, hold nothing that was written.
_UNWRITTEN = ("aten.empty", "aten.new_empty", "fsdp.all_gather_copy_in")
_TO_NUMPY = torch.Tensor.numpy  # while a step is recorded, Tensor.numpy is followed


def splitmix64(numbers: numpy.ndarray) -> numpy.ndarray:
    """Vigna's mixing of each of these uint64."""
    mixed = numbers + numpy.uint64(0x9e3779b97f4a7c15)
    mixed = (mixed ^ (mixed >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return mixed ^ (mixed >> numpy.uint64(31))


def fnv1a64(text: str) -> int:
    """Fowler, Noll and Vo's hash of the text's bytes."""
    value = 0xcbf29ce484222325
    for byte in text.encode("utf-8"):
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def signs(positions: numpy.ndarray) -> numpy.ndarray:
    """Signs [SUMS, n], 1.0 and -1.0, of n hashed positions."""
    mixed = splitmix64(positions)
    return numpy.stack([1.0 - 2.0 * ((mixed >> numpy.uint64(k)) & numpy.uint64(1)).astype(numpy.float64)
                        for k in range(SUMS)])


def elements(tensor: torch.Tensor) -> numpy.ndarray:
    """The elements in the order of the index, in double precision; complex ones as two, those that are not finite as 0."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    values = _TO_NUMPY(plain.to(torch.float64).reshape(-1))
    finite = numpy.isfinite(values)
    return values if finite.all() else numpy.where(finite, values, 0.0)


def positions(part: Part, shape: Sequence[int], pair: bool) -> numpy.ndarray:
    """Row-major positions in the whole of the elements of a tensor of this shape that is this part; `pair`: of complex
    numbers, which are two real ones each."""
    if part.flat is not None:
        found = numpy.arange(part.flat[0], part.flat[0] + part.flat[1], dtype=numpy.uint64)
    else:
        place = part.place or [[[0, size]] for size in part.of]
        found = numpy.zeros((), dtype=numpy.uint64)
        for size, segments in zip(part.of, place):
            along = numpy.concatenate([numpy.arange(start, start + length, dtype=numpy.uint64)
                                       for start, length in segments] or [numpy.zeros(0, numpy.uint64)])
            found = found[..., None] * numpy.uint64(size) + along
        assert found.shape == tuple(shape)
    if pair:
        found = numpy.stack([found * numpy.uint64(2), found * numpy.uint64(2) + numpy.uint64(1)], -1)
    return found.reshape(-1)


def sketch_of_part(name: str, tensor: torch.Tensor, part: Part) -> numpy.ndarray:
    """What this rank adds to the sketch of the named whole: float64 [SUMS]."""
    where = positions(part, tensor.shape, tensor.is_complex())
    with numpy.errstate(over="ignore"):
        return signs(where + numpy.uint64(fnv1a64(name))) @ elements(tensor)


class OperatorSketches:
    """Sketches of the results of operators, right after each has run."""

    def __init__(self) -> None:
        self.places: List[List[int]] = []
        self.rows: List[numpy.ndarray] = []
        self._signs = signs(numpy.arange(1024, dtype=numpy.uint64))

    def add(self, position: int, entry: Dict[str, Any], result: Any) -> None:
        """Takes the results of the operator at a position of the log in."""
        if entry["op"].startswith(_UNWRITTEN):
            return
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        for index, tensor in enumerate(tensors):
            if tensor.layout == torch.strided and tensor.numel() <= LARGEST_RESULT:
                self.places.append([position, index])
                self.rows.append(self.sketch(tensor))

    def sketch(self, tensor: torch.Tensor) -> numpy.ndarray:
        """The norm and the signed sums: float64 [1 + SUMS]."""
        values = elements(tensor)
        if len(values) > self._signs.shape[1]:
            self._signs = signs(numpy.arange(2 * len(values), dtype=numpy.uint64))
        row = numpy.empty(1 + SUMS)
        with numpy.errstate(over="ignore", invalid="ignore"):
            row[0] = numpy.sqrt(values @ values)
            row[1:] = self._signs[:, :len(values)] @ values
        return row

    def arrays(self) -> Dict[str, numpy.ndarray]:
        """As the file of values has them."""
        rows = numpy.array(self.rows, dtype=numpy.float64).reshape(-1, 1 + SUMS)
        return {"sketch_places": numpy.array(self.places, dtype=numpy.int64).reshape(-1, 2), "sketches": rows}
