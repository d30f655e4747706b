"""What a declaration in the operator language computes: shapes are bound, and each output becomes a Python function
of its indices.

The functions work on plain scalars and on tape.Var alike, so that a derivative needs nothing further.
"""
import itertools
from fractions import Fraction

import reals
from language_writer import HELPERS, Writer
from tensors import INTEGER_TYPES, Malformed, Tensor, Undecided, broadcast_shape, indices, promoted, size_of


class Binding:
    """A declaration with operands of known shapes and attributes of known values."""

    def __init__(self, declaration, operands, attributes, doubts):
        """`doubts` gets what the documents forbid without harm to any value."""
        self.declaration = declaration
        self.attributes = attributes
        self.extents, self.packs = {}, {}
        self.positions = {}  # of the dimensions that an attribute names
        self.operands = {}  # name: declaration of the operand
        self.given = dict(zip((o.name for o in declaration.operands), operands))
        for operand in declaration.operands:
            self.operands[operand.name] = operand
        self.fresh = itertools.count()
        for operand in declaration.operands:
            tensor = self.given[operand.name]
            if tensor is None:
                continue
            if operand.integer and isinstance(tensor, Tensor) and tensor.kind not in INTEGER_TYPES:
                doubts.add(f"operand {operand.name} holds integers")
            if operand.entries is not None:
                if not isinstance(tensor, Tensor):
                    raise Malformed(f"operand {operand.name} is no number")
                self.bind(operand, tensor.shape)
        self.check_sizes()
        elementwise = [t for o, t in zip(declaration.operands, operands) if o.entries is None]
        self.shape = broadcast_shape([t.shape for t in elementwise if isinstance(t, Tensor)])

    # Shapes.

    def split(self, entries, at_entries, rank):
        """Positions of the entries: [(entry, [dimensions])]."""
        at = self.places(at_entries, rank) if at_entries is not None else []
        others = [k for k in range(rank) if k not in at]
        packs = [e for e in entries if e[0] == "pack"]
        surplus = len(others) - (len(entries) - len(packs))
        if len(packs) > 1 or surplus < 0 or (not packs and surplus):
            raise Malformed("wrong number of dimensions")
        result = []
        for entry in entries:
            count = surplus if entry[0] == "pack" else 1
            result.append((entry, others[:count]))
            others = others[count:]
        if at_entries is not None:
            result.append((at_entries[0], at))
        return result

    def places(self, at_entries, rank):
        for names, attribute in self.declaration.places:
            value = self.attributes[attribute]
            if value is None:
                listed = list(range(rank))
            else:
                listed = value if isinstance(value, (list, tuple)) else [value]
                listed = sorted(k + rank if k < 0 else k for k in listed)
            if len(set(listed)) < len(listed) or any(not 0 <= k < rank for k in listed):
                raise Malformed("no such dimension")
            if at_entries[0][0] != "pack" and len(listed) != 1:
                raise Malformed("one dimension is expected")
            self.positions[names[0]] = listed
            return listed
        raise Undecided("`|` without a place")

    def bind(self, operand, shape):
        for entry, dimensions in self.split(operand.entries, operand.at_entries, len(shape)):
            extents = [shape[k] for k in dimensions]
            if entry[0] == "pack":
                if self.packs.setdefault(entry[1], extents) != extents:
                    raise Malformed(f"extents of {entry[1]} differ")
            else:
                self.bind_entry(entry, extents[0])

    def bind_entry(self, entry, extent):
        if entry[0] == "number":
            if entry[1] != extent:
                raise Malformed("extent is not the declared number")
        elif entry[0] == "name":
            if self.extents.setdefault(entry[1], extent) != extent:
                raise Malformed(f"extents of {entry[1]} differ")
        elif entry[0] == "sized":
            if self.whole(entry[2]) != extent:
                raise Malformed("extent is not the declared one")
            self.bind_entry(entry[1], extent)
        else:
            self.bind_digits(entry[1], extent)

    def bind_digits(self, digits, extent):
        known, left = 1, []
        for digit in digits:
            own = self.extent_of(digit)
            if own is None:
                left.append(digit)
            else:
                known *= own
                if digit[0] == "sized":
                    self.bind_entry(digit[1], own)
        if len(left) > 1 or (left and (known == 0 or extent % known)) or (not left and known != extent):
            raise Malformed("a composite dimension does not divide")
        if left:
            self.bind_entry(left[0], extent // known)

    def extent_of(self, digit):
        """None: not known yet."""
        if digit[0] == "number":
            return digit[1]
        if digit[0] == "sized":
            return self.whole(digit[2])
        return self.extents.get(digit[1])

    def check_sizes(self):
        """Extents that are stated beside an index that other operands bind, too."""
        for operand in self.declaration.operands:
            tensor = self.given[operand.name]
            if operand.entries is not None and tensor is not None:
                self.bind(operand, tensor.shape)

    def whole(self, expression):
        value = self.constant(expression)
        if value is None or Fraction(value).denominator != 1:
            raise Malformed("an extent is no whole number")
        return int(value)

    def constant(self, expression):
        kind = expression[0]
        if kind == "number":
            return expression[1]
        if kind == "extent":
            return self.extents[expression[1]]
        if kind == "name":
            if expression[1] in self.attributes:
                value = self.attributes[expression[1]]
                if isinstance(value, (list, tuple)) and len(value) == 1:
                    return value[0]
                return value
            raise Undecided(f"{expression[1]} is no attribute")
        if kind == "negative":
            return -self.constant(expression[1])
        if kind not in ("+", "-", "*", "//", "%", "/", "power"):
            raise Malformed("no constant")
        a, b = self.constant(expression[1]), self.constant(expression[2])
        if kind in ("//", "%") and b == 0:
            raise Malformed("division by 0")
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: a // b,
                "%": lambda: a % b, "/": lambda: reals.divide(a, b), "power": lambda: reals.power(a, b)}[kind]()

    # Outputs.

    def output_dimensions(self, output):
        """[(extent, {name: expression of `o`})] per dimension; `o` stands for the dimension's index."""
        if output.entries is None:
            return [(extent, {}) for extent in self.shape]
        single = [self.output_dimension(entry) for entry in output.entries if entry[0] != "pack"]
        packed = [[(extent, {(entry[1], k): "{o}"}) for k, extent in enumerate(self.packs[entry[1]])]
                  for entry in output.entries if entry[0] == "pack"]
        result, single = [], iter(single)
        for entry in output.entries:
            result += packed.pop(0) if entry[0] == "pack" else [next(single)]
        for names, _ in self.declaration.places:
            result = self.placed(output, names[0], result)
        return result

    def placed(self, output, name, others):
        """The dimensions with those that the attribute names in their places, or kept with extent 1."""
        at = self.positions[name]
        if output.at_entries is not None:
            own = ([(extent, {(name, k): "{o}"}) for k, extent in enumerate(self.packs[name])]
                   if output.at_entries[0][0] == "pack" else [self.output_dimension(output.at_entries[0])])
        elif self.declaration.kept and self.attributes[self.declaration.kept]:
            own = [(1, {}) for _ in at]
        else:
            return others
        others, own = iter(others), iter(own)
        rank = sum(len(p) for p in self.packs.values()) if name in self.packs else None
        rank = rank if rank is not None else sum(len(p) for p in self.packs.values()) + 1
        return [next(own) if k in at else next(others) for k in range(rank)]

    def output_dimension(self, entry):
        if entry[0] == "number":
            return entry[1], {}
        if entry[0] == "digits":
            extents = [self.digit_extent(digit) for digit in entry[1]]
            meaning, below = {}, 1
            for digit, extent in reversed(list(zip(entry[1], extents))):
                if digit[0] != "number":
                    name = digit[1] if digit[0] == "name" else digit[1][1]
                    meaning[name] = f"({{o}} // {below} % {max(extent, 1)})"
                below *= extent
            return size_of(extents), meaning
        name = entry[1] if entry[0] == "name" else entry[1][1]
        return self.digit_extent(entry), {name: "{o}"}

    def digit_extent(self, digit):
        extent = self.extent_of(digit)
        if extent is None:
            raise Undecided(f"no extent of {digit}")
        if digit[0] == "sized":
            self.extents.setdefault(digit[1][1], extent)
        return extent

    def function(self, output, body):
        """(shape, a function of the operands that gives a function of the output's indices)."""
        dimensions = self.output_dimensions(output)
        names = [f"o{k}" for k in range(len(dimensions))]
        environment = {}
        for own, (_, meaning) in zip(names, dimensions):
            for key, text in meaning.items():
                environment[key] = text.replace("{o}", own)
        writer = Writer(self, environment, "(" + "".join(f"{n}, " for n in names) + ")")
        source = writer.condition(body)[0] if body in self.declaration.premises else writer.real(body)
        arguments = ", ".join(f"t_{name}" for name in self.operands)
        code = f"lambda {arguments}: lambda {', '.join(names)}: {source}"
        return tuple(extent for extent, _ in dimensions), eval(code, dict(HELPERS))  # pylint: disable=eval-used


class DeclaredOperator:
    """An operator of one or more declarations; `evaluate` gives its outputs."""

    def __init__(self, declarations):
        self.declarations = declarations
        self.bindings = {}
        self.doubts = set()

    def evaluate(self, operands, attributes):
        key = (tuple(o.shape + (o.kind,) if isinstance(o, Tensor) else o for o in operands),
               repr(sorted(attributes.items())))
        if key not in self.bindings:
            self.bindings[key] = self.bind(operands, attributes)
        binding, premises, outputs = self.bindings[key]
        values = list(operands)
        values += [None] * (len(binding.operands) - len(values))
        results = []
        for shape, function, kind in outputs:
            element = function(*values)
            results.append(Tensor(shape, [element(*index) for index in indices(shape)], kind))
        for _, premise in premises:
            holds = premise(*values)
            for at, index in enumerate(indices(results[0].shape)):
                if not holds(*index):
                    results[0].flat[at] = reals.UNDEFINED
        return results

    def bind(self, operands, attributes):
        declaration, values = self.chosen(attributes)
        if not len(operands) <= len(declaration.operands):
            raise Malformed("too many operands")
        operands = list(operands) + [None] * (len(declaration.operands) - len(operands))
        for operand, given in zip(declaration.operands, operands):
            if given is None and not operand.optional:
                raise Malformed(f"operand {operand.name} is missing")
        binding = Binding(declaration, operands, values, self.doubts)
        kinds = {o.name: g.kind for o, g in zip(declaration.operands, operands) if isinstance(g, Tensor)}
        outputs = []
        for output in declaration.outputs:
            shape, function = binding.function(output, output.body)
            kind = output.kind
            if kind is None:
                kind = promoted(operands)
            elif isinstance(kind, tuple):
                kind = kinds[kind[1]]
            outputs.append((shape, function, kind))
        premises = [binding.function(declaration.outputs[0], premise) for premise in declaration.premises]
        return binding, premises, outputs

    def chosen(self, attributes):
        """The first declaration that is meant for these attributes, and the values of all its attributes."""
        for declaration in self.declarations:
            values = {}
            for attribute in declaration.attributes:
                if attribute.required and attribute.name not in attributes:
                    raise Malformed(f"attribute {attribute.name} is missing")
                values[attribute.name] = attributes.get(attribute.name, attribute.default)
            for name in attributes:
                if name not in values:
                    raise Malformed(f"no attribute {name}")
            if all(values[name] == value for name, value in declaration.conditions):
                for attribute in declaration.attributes:
                    if attribute.only and values[attribute.name] != attribute.default:
                        raise Undecided(f"attribute {attribute.name} has another value than declared")
                return declaration, values
        raise Undecided("no declaration for these attributes")

    @property
    def is_constant_for_derivatives(self):
        return self.declarations[0].stop_gradient
