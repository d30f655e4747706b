"""Writes expressions of the operator language as Python text, which language_meaning.py turns into functions."""
from fractions import Fraction

import reals
import tape
from tensors import Malformed, Undecided, broadcast_at

HELPERS = {
    "exp": tape.exp, "log": tape.log, "sqrt": tape.sqrt, "rsqrt": tape.rsqrt, "erf": tape.erf, "tanh": tape.tanh,
    "sigmoid": tape.sigmoid, "sin": tape.sin, "cos": tape.cos, "absolute": tape.absolute, "divide": tape.divide,
    "power": tape.power, "largest": tape.largest, "smallest": tape.smallest, "choose": tape.choose, "apart": tape.apart,
    "indicator": tape.indicator, "holds": tape.holds, "is_true": tape.is_true, "Fraction": Fraction,
    "MINUS_INFINITY": reals.MINUS_INFINITY, "broadcast_at": broadcast_at,
    "both": lambda a, b: a if a is None or not a else b(),
    "either": lambda a, b: a if a is None or a else b(),
    "negation": lambda a: None if a is None else not a,
}


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
                return f"apart({self.real(e[2])} if {condition} else {self.real(e[3])})"
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
