"""Weights of elements by logical index: products, over dimensions, of numbers that are hashed from the tensor's name and the index."""
from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy

from planproof.torch.relations import Part
from planproof.torch.sketches import fnv1a64, splitmix64

SKETCHES = 4
#: Of a factor, 3 bits are its size in eighths (8 to 15) and one its sign.
_BITS_OF_A_FACTOR = 4


@dataclass
class Factors:
    """Of one dimension, or of several that are adjacent: weights float32 [SKETCHES, n] of sketches, and uint64 [n] of fingerprints."""

    sketch: numpy.ndarray
    fingerprint: numpy.ndarray

    def nbytes(self) -> int:
        return int(self.sketch.nbytes + self.fingerprint.nbytes)


def factors(name: str, dimension: int, indices: numpy.ndarray) -> Factors:
    """Of these indices (uint64 [n]) of a dimension of the named tensor."""
    with numpy.errstate(over="ignore"):
        start = numpy.uint64(fnv1a64(name)) + splitmix64(numpy.array([dimension + 1], numpy.uint64))
        hashed = splitmix64(start + indices)
        sketch = numpy.empty((SKETCHES, len(indices)), numpy.float32)
        for k in range(SKETCHES):
            bits = (hashed >> numpy.uint64(_BITS_OF_A_FACTOR * k)) & numpy.uint64(15)
            size = (8 + (bits >> numpy.uint64(1)).astype(numpy.float32)) / 8
            sketch[k] = numpy.where(bits & numpy.uint64(1), -size, size)
        return Factors(sketch, splitmix64(hashed) | numpy.uint64(1))


def product(first: Factors, second: Factors) -> Factors:
    """Of two adjacent dimensions as one. Factors of sketches are multiples of 1/8: six of them multiply without rounding."""
    with numpy.errstate(over="ignore"):
        return Factors((first.sketch[:, :, None] * second.sketch[:, None, :]).reshape(SKETCHES, -1),
                       (first.fingerprint[:, None] * second.fingerprint[None, :]).reshape(-1))


@dataclass
class Rectangle:
    """Elements that lie one after another in a local tensor and are a rectangle of the whole: `start` and `count` in the local
    tensor's elements, and per dimension the indices in the whole."""

    start: int
    count: int
    indices: List[numpy.ndarray]


def rectangles(part: Part, complex_pair: bool = False) -> List[Rectangle]:
    """What a part consists of. A piece of a flat tensor is cut where its rows begin and end."""
    if part.flat is not None:
        found = [Rectangle(start - part.flat[0], count, indices)
                 for start, count, indices in _flat(part.of, part.flat[0], part.flat[0] + part.flat[1])]
    else:
        place = part.place if part.place is not None else [[[0, size]] for size in part.of]
        indices = [_indices(segments) for segments in place]
        count = 1
        for each in indices:
            count *= len(each)
        found = [Rectangle(0, count, indices)]
    if complex_pair:
        found = [Rectangle(2 * each.start, 2 * each.count, [*each.indices, numpy.arange(2, dtype=numpy.uint64)]) for each in found]
    return [each for each in found if each.count]


def _indices(segments: Sequence[Sequence[int]]) -> numpy.ndarray:
    runs = [numpy.arange(start, start + length, dtype=numpy.uint64) for start, length in segments]
    return numpy.concatenate(runs) if len(runs) != 1 else runs[0]


def _flat(of: Tuple[int, ...], start: int, end: int) -> List[Tuple[int, int, List[numpy.ndarray]]]:
    """Rectangles of the elements [start, end) of a whole in row-major order: first element, number, indices."""
    if start >= end:
        return []
    if len(of) <= 1:
        return [(start, end - start, [numpy.arange(start, end, dtype=numpy.uint64)] if of else [])]
    row = 1
    for size in of[1:]:
        row *= size
    first, last = -(-start // row), end // row
    if first > last:  # within one row
        return _in_row(of, row, last, start, end)
    found = _in_row(of, row, first - 1, start, first * row) if start < first * row else []
    if first < last:
        indices = [numpy.arange(first, last, dtype=numpy.uint64)]
        indices += [numpy.arange(size, dtype=numpy.uint64) for size in of[1:]]
        found.append((first * row, (last - first) * row, indices))
    return found + (_in_row(of, row, last, last * row, end) if last * row < end else [])


def _in_row(of: Tuple[int, ...], row: int, index: int, start: int, end: int) -> List[Tuple[int, int, List[numpy.ndarray]]]:
    base = index * row
    return [(base + first, count, [numpy.array([index], numpy.uint64), *indices])
            for first, count, indices in _flat(of[1:], start - base, end - base)]


def halves(name: str, indices: Sequence[numpy.ndarray]) -> Tuple[Factors, Factors]:
    """Factors of a rectangle as a matrix: of its rows and of its columns, with as few of both together as there can be."""
    if not indices:
        return factors(name, 0, numpy.zeros(1, numpy.uint64)), _one()
    sizes = [len(each) for each in indices]
    cut = min(range(len(sizes) + 1), key=lambda at: numpy.prod(sizes[:at], dtype=float) + numpy.prod(sizes[at:], dtype=float))
    return _multiplied(name, indices, 0, cut) or _one(), _multiplied(name, indices, cut, len(sizes)) or _one()


def _multiplied(name: str, indices: Sequence[numpy.ndarray], first: int, last: int) -> Optional[Factors]:
    found: Optional[Factors] = None
    for dimension in range(first, last):
        own = factors(name, dimension, indices[dimension])
        found = own if found is None else product(found, own)
    return found


def _one() -> Factors:
    return Factors(numpy.ones((SKETCHES, 1), numpy.float32), numpy.ones(1, numpy.uint64))


def in_full(name: str, indices: Sequence[numpy.ndarray]) -> Factors:
    """Factors of every element of a rectangle, in its order."""
    rows, columns = halves(name, indices)
    return product(rows, columns)
