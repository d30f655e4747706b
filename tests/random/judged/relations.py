"""Relations (docs/plan-format.md): which slice of which logical tensor a tensor is, on one rank in one microbatch."""
from tensors import Malformed, Tensor, indices, size_of
import expressions

KEYS = ("of", "partial", "map", "shape", "overlap", "factor", "note")


class Relation:
    """A relation of a tensor, whose name is the default of `of`, to a logical tensor."""

    def __init__(self, name, content, mesh, microbatches):
        self.extents = {**mesh, "microbatch": microbatches}
        self.content = dict(content)
        self.of = content.get("of", name)
        self.factor = content.get("factor", 1)
        self.cuts = {}
        for key, value in content.items():
            if key.isdigit():
                self.cuts[int(key)] = value
            elif key not in KEYS:
                raise Malformed(f"unknown key {key!r} in a relation")
        if "map" in content and self.cuts:
            raise Malformed("a relation has cuts and a map")
        if not all(expressions.is_affine(e) for e in content.get("map", [])):
            raise Malformed("a map has a product of two indices")
        self.partial = self._partial(content.get("partial", []))

    def _partial(self, value):
        self.partial_kind = "sum"
        if isinstance(value, dict):
            (self.partial_kind, value), = value.items()
        axes = [value] if isinstance(value, str) else list(value)
        self._check_axes(axes)
        return axes

    def _check_axes(self, axes):
        for axis in axes:
            if axis not in self.extents:
                raise Malformed(f"no axis {axis!r}")
        if len(set(axes)) < len(axes):
            raise Malformed("an axis is listed twice")

    def axes(self):
        """All axes that the relation names, over which the tensor varies."""
        found = set(self.partial)
        for cut in self.cuts.values():
            if isinstance(cut, dict):
                found |= set(_list(cut["over"]))
            elif isinstance(cut, str) or (cut and isinstance(cut[0], str)):
                found |= set(_list(cut))
        for expression in self.content.get("map", []):
            found |= {n for n in expressions.names_in(expression) if n in self.extents}
        return found

    def _ranges(self, shape, place):
        """Of each logical dimension, the range that is held at the coordinates `place`."""
        ranges = [(0, extent) for extent in shape]
        used = []
        for k, cut in self.cuts.items():
            if k >= len(shape):
                raise Malformed(f"no dimension {k}")
            if isinstance(cut, dict):
                axes, sizes = _list(cut["over"]), cut["sizes"]
                self._check_axes(axes)
                if sum(sizes) != shape[k] or len(sizes) != self._count(axes) or min(sizes) < 1:
                    raise Malformed("sizes of uneven parts")
                rank = self._rank(axes, place)
                ranges[k] = (sum(sizes[:rank]), sum(sizes[:rank + 1]))
                used += axes
            elif isinstance(cut, list) and cut and not isinstance(cut[0], str):
                low, high = cut
                if not 0 <= low < high <= shape[k]:
                    raise Malformed("range of a cut")
                ranges[k] = (low, high)
            else:
                axes = _list(cut)
                self._check_axes(axes)
                count = self._count(axes)
                if shape[k] % count:
                    raise Malformed("a dimension does not divide")
                size, rank = shape[k] // count, self._rank(axes, place)
                ranges[k] = (rank * size, rank * size + size)
                used += axes
        if len(set(used)) < len(used):
            raise Malformed("an axis cuts two dimensions")
        return ranges

    def _count(self, axes):
        return size_of(self.extents[axis] for axis in axes)

    def _rank(self, axes, place):
        rank = 0
        for axis in axes:
            rank = rank * self.extents[axis] + place[axis]
        return rank

    def local_shape(self, shape, place, given=None):
        if "map" in self.content:
            local = self.content.get("shape", given)
            if local is None:
                raise Malformed("a map needs a shape")
            return tuple(local)
        return tuple(high - low for low, high in self._ranges(shape, place))

    def positions(self, shape, place, given=None):
        """The local shape and, for each local index in row-major order, the index of the logical element."""
        local = self.local_shape(shape, place, given)
        if "map" not in self.content:
            ranges = self._ranges(shape, place)
            return local, [tuple(i + low for i, (low, _) in zip(index, ranges)) for index in indices(local)]
        own = self.content["map"]
        if len(own) != len(shape):
            raise Malformed("a map has one expression for each logical dimension")
        result = []
        for index in indices(local):
            names = {**place, **{f"i{k}": i for k, i in enumerate(index)}}
            position = tuple(expressions.evaluate(e, names) for e in own)
            if any(not 0 <= p < e for p, e in zip(position, shape)):
                raise Malformed("a map leaves the tensor")
            result.append(position)
        return local, result

    def slice_of(self, logical, place, given=None):
        """What a tensor of this relation holds."""
        local, positions = self.positions(logical.shape, place, given)
        values = [logical.at(*position) for position in positions]
        if self.factor != 1:
            values = [value * self.factor for value in values]
        return Tensor(local, values, logical.kind)


def _list(axes):
    return [axes] if isinstance(axes, str) else list(axes)


def named_relations(content):
    """`{name: relation}` of an object, or of a list of names."""
    if isinstance(content, dict):
        return {name: relation for name, relation in content.items() if name != "note"}
    return {name: {} for name in content}
