"""Tensors as flat lists of scalars in row-major order, with a shape and an element type."""
import itertools

from reals import UNDEFINED

REAL_TYPES = ("float64", "float32", "float16", "bfloat16")
INTEGER_TYPES = ("int64", "int32", "int16", "int8", "uint8")


class Malformed(Exception):
    """A violation of docs/plan-format.md."""


class Undecided(Exception):
    """Something that the documents leave open, or that the judge does not cover."""


def size_of(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total


def indices(shape):
    return itertools.product(*(range(extent) for extent in shape))


class Tensor:
    __slots__ = ("shape", "flat", "kind")

    def __init__(self, shape, flat, kind="float32"):
        self.shape = tuple(shape)
        self.flat = flat
        self.kind = kind
        if len(flat) != size_of(self.shape):
            raise AssertionError((shape, len(flat)))

    @classmethod
    def build(cls, shape, element, kind="float32"):
        """The tensor whose element at each index is `element(index)`."""
        return cls(shape, [element(index) for index in indices(shape)], kind)

    def at(self, *index):
        """The element; undefined outside of the tensor."""
        offset = 0
        for position, extent in zip(index, self.shape):
            if not isinstance(position, int) or not 0 <= position < extent:
                return UNDEFINED
            offset = offset * extent + position
        return self.flat[offset]

    def inside(self, plain, *index):
        """The element; that the index lies in the tensor in the dimensions `plain`, where it depends on no data, is a
        rule.
        """
        for k in plain:
            if not 0 <= index[k] < self.shape[k]:
                raise Malformed(f"a read at {list(index)} of a tensor of shape {list(self.shape)}")
        return self.at(*index)

    def is_real(self):
        return self.kind in REAL_TYPES

    def __repr__(self):
        return f"{self.kind}{list(self.shape)} {self.flat}"


def broadcast_shape(shapes):
    """NumPy's rule."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = []
    for k in range(rank):
        extents = {shape[k - rank + len(shape)] for shape in shapes if k - rank + len(shape) >= 0}
        extents.discard(1)
        if len(extents) > 1:
            raise Malformed(f"shapes {shapes} cannot be broadcast")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def broadcast_at(tensor, index):
    """The element that stands at `index` of the broadcast result; a number is itself."""
    if not isinstance(tensor, Tensor):
        return tensor
    skip = len(index) - len(tensor.shape)
    return tensor.at(*(0 if extent == 1 else k for k, extent in zip(index[skip:], tensor.shape)))


def promoted(operands):
    """The element type of a result, as PyTorch promotes; numbers do not count beside a tensor of their kind."""
    kinds = [t.kind for t in operands if isinstance(t, Tensor)]
    for order in (REAL_TYPES, INTEGER_TYPES):
        found = [kind for kind in order if kind in kinds]
        if found:
            return "float32" if {"float16", "bfloat16"} <= set(found) else found[0]
    return "bool" if kinds else "float32"
