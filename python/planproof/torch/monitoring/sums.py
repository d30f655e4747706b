"""Norms, sketches and fingerprints of tensors in the host's memory, without copies of them that are large."""
from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

import numpy
import torch

from planproof.torch.monitoring.weights import SKETCHES, Factors, Rectangle, halves, in_full, rectangles
from planproof.torch.relations import Part

#: Elements that are worked on at once: their float32 copy fits into a second-level cache.
CHUNK = 1 << 16
#: Tensors of at most as many elements are taken together.
SMALL = 1 << 11
#: Weights are kept up to this part of the parameters' memory, or as many bytes.
KEPT_PART, KEPT_LEAST = 0.03, 1 << 20
#: Sums of squares in float32 outside of this range have lost digits.
_LEAST_SQUARES, _MOST_SQUARES = 1e-30, 1e30

_BITS = {1: (torch.uint8, numpy.uint8), 2: (torch.int16, numpy.uint16), 4: (torch.int32, numpy.uint32), 8: (torch.int64, numpy.uint64)}


class Slot:
    """A tensor to sum: the name that its weights are hashed from, and the part that is held."""

    def __init__(self, name: str, part: Part) -> None:
        self.name, self.part = name, part
        self.key = f"{name} {part.of} {part.place} {part.flat}"


@dataclass
class Sums:
    """Per tensor the norm, sketches [SKETCHES, n] and the fingerprint (uint64)."""

    norms: numpy.ndarray
    sketches: numpy.ndarray
    fingerprints: numpy.ndarray

    @staticmethod
    def zeros(count: int) -> "Sums":
        return Sums(numpy.zeros(count), numpy.zeros((SKETCHES, count)), numpy.zeros(count, numpy.uint64))

    def hide_what_is_not_finite(self) -> "Sums":
        """Of a tensor with elements that are not finite neither norm nor sketches are numbers."""
        bad = ~numpy.isfinite(self.norms)
        if bad.any():
            self.norms[bad] = numpy.nan
            self.sketches[:, bad] = numpy.nan
        return self


#: Weights of a tensor: rectangles with the factors of their rows and columns.
_Pieces = List[Tuple[Rectangle, Factors, Factors]]


@dataclass
class _Together:
    """Weights of small tensors, one after another: float32 [SKETCHES, n] and uint64 [n], and where each tensor begins."""

    sketch: numpy.ndarray
    fingerprint: numpy.ndarray
    starts: numpy.ndarray


class HostSums:
    """Sums of tensors on the CPU. Weights that are used again are kept, as far as memory allows."""

    def __init__(self, bytes_of_parameters: int) -> None:
        self._most = max(int(KEPT_PART * bytes_of_parameters), KEPT_LEAST)
        self._kept: "OrderedDict[object, Tuple[object, int]]" = OrderedDict()
        self._bytes = 0

    def measure(self, slots: Sequence[Slot], tensors: Sequence[torch.Tensor], known: Optional[Sums] = None) -> Sums:
        """Sums of local tensors. `known` are sums of the same slots at another moment: those of tensors with the same
        bits, by their fingerprints, are taken from there."""
        found = Sums.zeros(len(slots))
        small: Dict[Tuple[torch.dtype, bool], List[int]] = {}
        with torch._C._DisableAutocast(), torch.no_grad(), numpy.errstate(all="ignore"):
            for at, (slot, tensor) in enumerate(zip(slots, tensors)):
                if tensor.numel() <= SMALL:
                    if tensor.numel():
                        small.setdefault((tensor.dtype, tensor.is_complex()), []).append(at)
                else:
                    self._large(slot, tensor.detach(), at, found, known)
            for places in small.values():
                self._small([slots[at] for at in places], [tensors[at].detach() for at in places], places, found)
        return found.hide_what_is_not_finite()

    def _large(self, slot: Slot, tensor: torch.Tensor, at: int, found: Sums, known: Optional[Sums]) -> None:
        real = real_elements(tensor)
        pieces = self._pieces(slot, tensor.is_complex())
        matrices = [_matrix(real, piece, rows, columns) for piece, rows, columns in pieces]
        print_ = 0
        for matrix, (_, rows, columns) in zip(matrices, pieces):
            print_ += _fingerprint(matrix, rows, columns)
        found.fingerprints[at] = print_ % (1 << 64)
        if known is not None and known.fingerprints[at] == found.fingerprints[at]:
            found.norms[at], found.sketches[:, at] = known.norms[at], known.sketches[:, at]
            return
        squares = 0.0
        for matrix, (_, rows, columns) in zip(matrices, pieces):
            squares += _add_sketches(matrix, rows, columns, found.sketches[:, at])
        found.norms[at] = numpy.sqrt(squares) if _LEAST_SQUARES < squares < _MOST_SQUARES else \
            float(torch.linalg.vector_norm(real, dtype=torch.float64))

    def _small(self, slots: Sequence[Slot], tensors: Sequence[torch.Tensor], places: Sequence[int], found: Sums) -> None:
        flat = torch.cat([real_elements(tensor).reshape(-1) for tensor in tensors])
        weights = self._together(slots, tensors)
        values = flat.to(_wide(flat.dtype)).numpy()
        bits = _bits(flat).astype(numpy.uint64)
        starts = weights.starts
        double = values.astype(numpy.float64)
        found.norms[places] = numpy.sqrt(numpy.add.reduceat(double * double, starts))
        found.sketches[:, places] = numpy.add.reduceat(weights.sketch * values, starts, axis=1, dtype=numpy.float64)
        found.fingerprints[places] = numpy.add.reduceat(bits * weights.fingerprint, starts)

    def _pieces(self, slot: Slot, pair: bool) -> _Pieces:
        key = (slot.key, pair)
        kept = self._kept.get(key)
        if kept is None:
            pieces = [(piece, *halves(slot.name, piece.indices)) for piece in rectangles(slot.part, pair)]
            kept = pieces, sum(rows.nbytes() + columns.nbytes() for _, rows, columns in pieces)
            self._keep(key, kept)
        return kept[0]  # type: ignore[return-value]

    def _together(self, slots: Sequence[Slot], tensors: Sequence[torch.Tensor]) -> _Together:
        key = tuple((slot.key, tensor.is_complex()) for slot, tensor in zip(slots, tensors))
        kept = self._kept.get(key)
        if kept is None:
            made = [[in_full(slot.name, piece.indices) for piece in rectangles(slot.part, tensor.is_complex())]
                    for slot, tensor in zip(slots, tensors)]
            lengths = [sum(len(each.fingerprint) for each in own) for own in made]
            together = _Together(numpy.concatenate([each.sketch for own in made for each in own], axis=1),
                                 numpy.concatenate([each.fingerprint for own in made for each in own]),
                                 numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]]).astype(numpy.int64))
            kept = together, int(together.sketch.nbytes + together.fingerprint.nbytes)
            self._keep(key, kept)
        return kept[0]  # type: ignore[return-value]

    def _keep(self, key: object, kept: Tuple[object, int]) -> None:
        """Keeps weights if there is room; what was kept first stays, since all are used once in every sample."""
        if self._bytes + kept[1] <= self._most:
            self._kept[key] = kept
            self._bytes += kept[1]

    def forget(self) -> None:
        """Frees weights: other tensors are to come."""
        self._kept.clear()
        self._bytes = 0


def real_elements(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor itself, or the real and imaginary parts of a complex one along one more dimension."""
    if not tensor.is_complex():
        return tensor
    return torch.view_as_real(tensor.resolve_conj().resolve_neg())


def _wide(dtype: torch.dtype) -> torch.dtype:
    """In which sums are made."""
    return torch.float32 if dtype.is_floating_point and dtype.itemsize <= 4 else torch.float64


def _bits(tensor: torch.Tensor) -> numpy.ndarray:
    """The elements' bits as unsigned integers."""
    same_size, unsigned = _BITS[tensor.dtype.itemsize]
    plain = tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor.view(same_size)
    return plain.numpy().view(unsigned)  # type: ignore[no-any-return]


def _matrix(tensor: torch.Tensor, piece: Rectangle, rows: Factors, columns: Factors) -> torch.Tensor:
    """A rectangle of a local tensor as rows and columns. It is a copy only if the tensor's strides ask for that."""
    shape = (len(rows.fingerprint), len(columns.fingerprint))
    if piece.count == tensor.numel():
        return tensor.reshape(shape)
    return tensor.reshape(-1)[piece.start:piece.start + piece.count].reshape(shape)


def _fingerprint(matrix: torch.Tensor, rows: Factors, columns: Factors) -> int:
    """The sum over a rectangle; a uint64 that has wrapped around as the format says."""
    bits = _bits(matrix)
    if bits.shape[0] == 1:
        return int(numpy.einsum("c,c->", bits[0], columns.fingerprint) * rows.fingerprint[0])
    if bits.shape[1] == 1:
        return int(numpy.einsum("r,r->", bits[:, 0], rows.fingerprint) * columns.fingerprint[0])
    return int(numpy.einsum("r,r->", numpy.einsum("rc,c->r", bits, columns.fingerprint), rows.fingerprint))


def _add_sketches(matrix: torch.Tensor, rows: Factors, columns: Factors, sketches: numpy.ndarray) -> float:
    """Adds sketches; the sum of squares."""
    wide = _wide(matrix.dtype)
    if torch.get_float32_matmul_precision() != "highest":
        wide = torch.float64  # products of float32 may be made of fewer bits then
    left, right = torch.from_numpy(rows.sketch).to(wide), torch.from_numpy(columns.sketch).to(wide)
    if matrix.shape[0] == 1:
        matrix, left, right = matrix.t(), right, left  # as many rows as elements: no product that is as large
    step, squares = max(1, CHUNK // matrix.shape[1]), 0.0
    total = numpy.zeros((SKETCHES, matrix.shape[1]))
    for first in range(0, matrix.shape[0], step):
        chunk = matrix[first:first + step].to(wide)
        total += torch.mm(left[:, first:first + step], chunk).numpy()
        flat = chunk.reshape(-1) if chunk.is_contiguous() else chunk.t().reshape(-1)
        squares += float(torch.dot(flat, flat))
    sketches += (total * right.numpy()).sum(axis=1)
    return squares
