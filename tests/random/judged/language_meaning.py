"""What a declaration in the operator language computes: shapes are bound, and each output becomes a Python function of its indices.

The functions work on plain scalars and on tape.Var alike, so that a derivative needs nothing further.
"""
import itertools
from fractions import Fraction

import reals
import tape
from tensors import INTEGER_TYPES, Malformed, Tensor, Undecided, broadcast_at, broadcast_shape, \
    indices, promoted, size_of

HELPERS = {
    "exp": tape.exp, "log": tape.log, "sqrt": tape.sqrt, "rsqrt": tape.rsqrt, "erf": tape.erf, "tanh": tape.tanh,
    "sigmoid": tape.sigmoid, "sin": tape.sin, "cos": tape.cos, "absolute": tape.absolute, "divide": tape.divide,
    "power": tape.power, "largest": tape.largest, "smallest": tape.smallest, "choose": tape.choose,
    "indicator": tape.indicator, "holds": tape.holds, "is_true": tape.is_true, "Fraction": Fraction,
    "MINUS_INFINITY": reals.MINUS_INFINITY, "broadcast_at": broadcast_at,
    "both": lambda a, b: a if a is None or not a else b(),
    "either": lambda a, b: a if a is None or a else b(),
    "negation": lambda a: None if a is None else not a,
}


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
                doubts.append(f"operand {operand.name} holds integers")
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


class Writer:
    """Writes expressions as Python text. Names of indices stand in `environment`; packs as (name, position)."""

    def __init__(self, binding, environment, position):
        self.binding = binding
        self.environment = environment
        self.top = environment
        self.position = position  # of the output's element, for elementwise operands
        self.under_data = False  # within a branch that data chooses

    def within(self, environment):
        result = Writer(self.binding, environment, self.position)
        result.top, result.under_data = self.top, self.under_data
        return result

    def branches(self):
        """Writes what a condition on data guards: whether a read stays inside shows when it is chosen."""
        result = self.within(self.environment)
        result.under_data = True
        return result

    def is_index(self, e):
        """Whether it is an expression of indices and whole attributes alone."""
        if e[0] == "number":
            return isinstance(e[1], int)
        if e[0] == "name":
            return e[1] in self.environment or isinstance(self.binding.attributes.get(e[1]), int)
        if e[0] in ("+", "-", "*", "//", "%"):
            return self.is_index(e[1]) and self.is_index(e[2])
        return e[0] == "extent" or (e[0] == "negative" and self.is_index(e[1]))

    def real(self, e):
        kind = e[0]
        if kind == "number":
            return repr(e[1])
        if kind == "infinity":
            return "MINUS_INFINITY"
        if kind == "name":
            return self.named(e[1])
        if kind == "extent":
            return str(self.binding.extents[e[1]])
        if kind == "read":
            return self.read(e)
        if kind in ("//", "%") and self.binding.whole(e[2]) < 1:
            raise Malformed("indices are divided by a positive whole number")
        if kind in ("+", "-", "*", "//", "%"):
            return f"({self.real(e[1])} {kind} {self.real(e[2])})"
        if kind == "/":
            return f"divide({self.real(e[1])}, {self.real(e[2])})"
        if kind == "negative":
            return f"(-{self.real(e[1])})"
        if kind == "power":
            return f"power({self.real(e[1])}, {self.real(e[2])})"
        if kind == "where":
            condition, pure = self.condition(e[1])
            if pure:
                return f"({self.real(e[2])} if {condition} else {self.real(e[3])})"
            inner = self.branches()
            return f"choose({condition}, lambda: {inner.real(e[2])}, lambda: {inner.real(e[3])})"
        if kind == "reduce":
            return self.reduce(e)
        if kind == "call":
            return self.call(e)
        if kind != "indicator":
            raise Malformed("a condition stands where a number does")
        return f"indicator({self.condition(e[1])[0]})"

    def named(self, name):
        if name in self.environment:
            return self.environment[name]
        binding = self.binding
        if name in binding.declaration.lets:
            return self.let(name, [])
        if name in binding.operands:
            operand = binding.operands[name]
            if binding.given[name] is None:
                return repr(operand.default)
            return f"broadcast_at(t_{name}, {self.position})"
        if name in binding.attributes:
            return repr(binding.attributes[name])
        raise Undecided(f"unknown name {name}")

    def let(self, name, arguments):
        parameters, body = self.binding.declaration.lets[name]
        if len(parameters) != len(arguments):
            raise Undecided("wrong number of indices")
        return self.within({**self.top, **dict(zip(parameters, arguments))}).real(body)

    def read(self, e):
        _, name, entries, at_entries = e
        if name in self.binding.declaration.lets:
            return self.let(name, [self.real(entry) for entry in entries])
        operand = self.binding.operands[name]
        tensor = self.binding.given[name]
        if tensor is None:
            return repr(operand.default)
        declared = self.binding.split(operand.entries, operand.at_entries, len(tensor.shape))
        own = [None] * len(tensor.shape)
        if at_entries is None and operand.at_entries is None:
            self.place_entries(own, entries, declared)
        else:
            self.place_entries(own, entries + at_entries, declared)
        if self.under_data:
            return f"t_{name}.at({', '.join(own)})"
        plain = tuple(k for k, text in enumerate(own) if "t_" not in text)
        return f"t_{name}.inside({plain}, {', '.join(own)})"

    def place_entries(self, own, entries, declared):
        if len(entries) != len(declared):
            raise Undecided("a read with other entries than declared")
        for entry, (form, dimensions) in zip(entries, declared):
            if entry[0] == "pack":
                texts = [self.environment[(entry[1], k)] for k in range(len(dimensions))]
            elif entry[0] == "digits":
                texts = [self.digits(entry[1], form)]
            else:
                texts = [self.real(entry)]
            for dimension, text in zip(dimensions, texts):
                own[dimension] = text

    def digits(self, digits, form):
        if form[0] != "digits" or len(form[1]) != len(digits):
            raise Undecided("digits of a dimension that has none")
        text = "0"
        for digit, declared in zip(digits, form[1]):
            text = f"(({text}) * {self.binding.digit_extent(declared)} + {self.real(digit)})"
        return text

    def call(self, e):
        _, function, arguments = e
        ties = self.ties(function)
        texts = [self.real(argument) for argument in arguments]
        if function in ("max", "min"):
            return f"{'largest' if function == 'max' else 'smallest'}([{', '.join(texts)}], {ties})"
        if function == "abs":
            return f"absolute({texts[0]}, {ties})"
        return f"{function}({texts[0]})"

    def ties(self, function):
        """The tie rule, which an operator with a kink has."""
        if self.binding.declaration.ties is None and function in ("max", "min", "abs"):
            raise Malformed(f"{function} without a tie rule")
        return repr(self.binding.declaration.ties)

    def reduce(self, e):
        _, kind, binders, body = e
        environment, loops, count = dict(self.environment), [], 1
        for name, is_pack, bound in binders:
            if name in environment:
                raise Malformed(f"{name} already means something")
            extents = self.extents_of(name, is_pack, bound, body)
            for k, extent in enumerate(extents):
                own = f"v{next(self.binding.fresh)}"
                environment[(name, k) if is_pack else name] = own
                loops.append(f"for {own} in range({extent})")
                count *= extent
        text = self.within(environment).real(body)
        if count == 0 and kind != "sum":
            raise Malformed(f"the {kind} of no elements")
        items = f"[{text} {' '.join(loops)}]" if loops else f"[{text}]"
        ties = self.ties(kind)
        return {"sum": f"sum({items})", "mean": f"divide(sum({items}), {count})",
                "max": f"largest({items}, {ties})", "min": f"smallest({items}, {ties})"}[kind]

    def extents_of(self, name, is_pack, bound, body):
        binding = self.binding
        if bound is not None:
            return [binding.whole(bound)]
        if is_pack and name in binding.packs:
            return binding.packs[name]
        if not is_pack and name in binding.extents:
            return [binding.extents[name]]
        found = self.where_it_stands(name, is_pack, body)
        if not found:
            raise Undecided(f"no extent of {name}")
        return found[0]

    def where_it_stands(self, name, is_pack, e):
        """The extents of the dimensions at which a reduction's index stands."""
        found = []
        if e[0] == "read" and e[1] in self.binding.operands and self.binding.given[e[1]] is not None:
            operand, tensor = self.binding.operands[e[1]], self.binding.given[e[1]]
            declared = self.binding.split(operand.entries, operand.at_entries, len(tensor.shape))
            for entry, (form, dimensions) in zip(e[2] + (e[3] or []), declared):
                if entry == (("pack" if is_pack else "name"), name):
                    found.append([tensor.shape[k] for k in dimensions])
                elif entry[0] == "digits" and form[0] == "digits":
                    found += [[self.binding.digit_extent(own)] for digit, own in zip(entry[1], form[1])
                              if digit == ("name", name)]
        for part in e[1:]:
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, tuple) and inner and isinstance(inner[0], str):
                    found += self.where_it_stands(name, is_pack, inner)
        return found

    def condition(self, e):
        """(text, whether it depends on indices alone)."""
        kind = e[0]
        if kind == "compare":
            if self.is_index(e[2]) and self.is_index(e[3]):
                return f"({self.real(e[2])} {e[1]} {self.real(e[3])})", True
            return f"holds({e[1]!r}, {self.real(e[2])}, {self.real(e[3])})", False
        if kind in ("and", "or"):
            (a, a_pure), (b, b_pure) = self.condition(e[1]), self.condition(e[2])
            if a_pure and b_pure:
                return f"({a} {kind} {b})", True
            return f"{'both' if kind == 'and' else 'either'}({a}, lambda: {b})", False
        if kind == "not":
            text, pure = self.condition(e[1])
            return (f"(not {text})", True) if pure else (f"negation({text})", False)
        return f"is_true({self.real(e)})", False


class DeclaredOperator:
    """An operator of one or more declarations; `evaluate` gives its outputs."""

    def __init__(self, declarations):
        self.declarations = declarations
        self.bindings = {}
        self.doubts = []

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
