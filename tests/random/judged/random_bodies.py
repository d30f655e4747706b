"""Random bodies of declared operators: reads at random indices, conditions, reductions, lets, several outputs.

Indices of reads stay within their operands by construction; where one might leave, a condition guards it.
"""
from fractions import Fraction

from declarations import dimension, number, name, text


class Operand:
    """An operand with its dimensions: an extent each, or the extents of the digits of a composite one."""

    def __init__(self, own, dims, integer=None):
        self.name = own
        self.dims = dims  # [[extents of digits]]
        self.integer = integer  # (low, high) of ids

    @property
    def shape(self):
        result = []
        for digits in self.dims:
            extent = 1
            for digit in digits:
                extent *= digit
            result.append(extent)
        return result

    def declared(self):
        texts = []
        for k, digits in enumerate(self.dims):
            names = [name(f"{self.name}{k}{chr(97 + j)}") for j in range(len(digits))]
            if len(digits) == 1:
                texts.append(dimension(names[0]))
            else:
                sized = [names[0]] + [("sized", n, number(e)) for n, e in zip(names[1:], digits[1:])]
                texts.append(dimension(("digits", sized)))
        return f"{self.name}[{', '.join(texts)}]" + (": int" if self.integer else "")


class Body:
    """Makes expressions over index variables `scope`, pairs of a name and an extent."""

    def __init__(self, random, operands, ties):
        self.random = random
        self.operands = [o for o in operands if o.integer is None]
        self.ids = [o for o in operands if o.integer is not None]
        self.ties = ties
        self.count = 0

    def variable(self):
        self.count += 1
        return f"k{self.count}"

    def real(self, scope, depth):
        r = self.random
        if depth <= 0:
            return self.leaf(scope)
        kind = r.choice(["read", "read", "sum", "product", "product", "where", "indicator", "reduce", "reduce",
                         "extreme",
                         "scaled", "difference", "id", "square"])
        if kind == "read":
            return self.leaf(scope)
        if kind in ("sum", "difference"):
            return ("+" if kind == "sum" else "-", self.real(scope, depth - 1), self.real(scope, depth - 1))
        if kind == "product":
            return ("*", self.real(scope, depth - 1), self.leaf(scope))
        if kind == "square":
            return ("power", self.leaf(scope), number(r.choice([2, 2, 3])))
        if kind == "scaled":
            factor = number(r.choice([2, -1, 3, Fraction(1, 2), -2]))
            return ("*", factor, self.real(scope, depth - 1))
        if kind == "where":
            return self.where(scope, depth)
        if kind == "indicator":
            return ("*", ("indicator", self.condition(scope)), self.real(scope, depth - 1))
        if kind == "id" and self.ids and scope:
            return ("*", ("indicator", ("compare", r.choice(["==", "==", "<", ">="]), self.id(scope),
                                        self.index(scope, 4))), self.real(scope, depth - 1))
        if kind == "extreme" and self.ties:
            if r.random() < .25:
                return ("call", "abs", [self.real(scope, depth - 1)])
            return ("call", r.choice(["max", "min"]), [self.real(scope, depth - 1), self.leaf(scope)])
        return self.reduction(scope, depth)

    def reduction(self, scope, depth):
        r = self.random
        kind = r.choice(["sum", "sum", "sum", "mean"] + (["max", "min", "max"] if self.ties else []))
        binders = [(self.variable(), r.choice([2, 3, 3, 4]) if r.random() < .9 else 1)
                   for _ in range(1 if r.random() < .8 else 2)]
        body = self.real(scope + binders, depth - 1)
        return ("reduce", kind, [(n, False, number(e)) for n, e in binders], body)

    def leaf(self, scope):
        r = self.random
        if r.random() < .08:
            return number(r.choice([1, 2, -1, Fraction(1, 2), 0]))
        if r.random() < .07 and scope:
            return self.guarded(scope)
        return self.read(r.choice(self.operands), scope)

    def guarded(self, scope):
        """A read that a condition keeps within its operand."""
        r = self.random
        operand = r.choice(self.operands)
        at = r.randrange(len(operand.shape))
        variable, _ = r.choice(scope)
        shifted = ("+" if r.random() < .5 else "-", name(variable), number(r.choice([1, 1, 2])))
        read = self.read(operand, scope)
        entries = list(read[2])
        entries[at] = shifted
        inside = ("and", ("compare", "<=", number(0), shifted), ("compare", "<", shifted, number(operand.shape[at])))
        if r.random() < .5:
            return ("where", inside, ("read", operand.name, entries, None), number(0))
        return ("where", ("not", inside), number(r.choice([0, 1])), ("read", operand.name, entries, None))

    def where(self, scope, depth):
        r = self.random
        if self.operands and r.random() < .2:
            condition = ("compare", r.choice(["<", "<=", ">"]), self.leaf(scope), number(r.choice([0, 0, 1])))
        else:
            condition = self.condition(scope)
        return ("where", condition, self.real(scope, depth - 1), self.real(scope, depth - 1))

    def condition(self, scope, depth=1):
        r = self.random
        if not scope:
            return ("compare", "<", number(0), number(1))
        if depth and r.random() < .25:
            return (r.choice(["and", "or"]), self.condition(scope, 0), self.condition(scope, 0))
        if depth and r.random() < .1:
            return ("not", self.condition(scope, 0))
        order = r.choice(["==", "!=", "<", "<=", ">", ">="])
        left = self.index(scope, 6)
        right = self.index(scope, 6) if r.random() < .5 else number(r.randint(0, 3))
        return ("compare", order, left, right)

    def id(self, scope):
        operand = self.random.choice(self.ids)
        return self.read(operand, scope)

    def read(self, operand, scope):
        entries = []
        for digits, extent in zip(operand.dims, operand.shape):
            if len(digits) > 1 and self.random.random() < .7:
                own = [self.digit(scope, e) for e in digits]
                entries.append(("digits", own, tuple(digits)))
            else:
                entries.append(self.index(scope, extent, operand.integer is None))
        return ("read", operand.name, entries, None)

    def digit(self, scope, extent):
        fitting = [v for v, e in scope if e <= extent]
        if fitting and self.random.random() < .85:
            return name(self.random.choice(fitting))
        return number(self.random.randrange(extent))

    def index(self, scope, extent, may_be_id=False):
        """An expression of index variables with values in [0, extent)."""
        r = self.random
        if may_be_id and r.random() < .12:
            fitting = [o for o in self.ids if 0 <= o.integer[0] and o.integer[1] <= extent]
            if fitting:
                return self.read(r.choice(fitting), scope)
        if not scope or extent == 1 or r.random() < .07:
            return number(r.randrange(extent))
        fitting = [(v, e) for v, e in scope if e <= extent]
        same = [(v, e) for v, e in scope if e == extent]
        kind = r.choice(["plain"] * 7 + ["modulo", "divided", "reversed", "strided", "shifted", "rotated"])
        variable, own = r.choice(same if same and r.random() < .8 else fitting if fitting else scope)
        if kind == "plain" and own <= extent:
            return name(variable)
        if kind == "divided":
            divisor = -(-own // extent) if own > extent else r.choice([1, 2, 3])
            return ("//", name(variable), number(max(divisor, 1)))
        if kind == "reversed" and own <= extent:
            return ("-", number(r.choice([own - 1, extent - 1])), name(variable))
        if kind == "shifted" and own < extent:
            return ("+", name(variable), number(r.randint(1, extent - own)))
        if kind == "strided":
            return self.strided(scope, extent, variable, own)
        if kind == "rotated":
            return ("%", ("+", name(variable), number(r.randint(1, 4))), number(extent))
        return ("%", name(variable), number(extent))

    def strided(self, scope, extent, variable, own):
        r = self.random
        step = r.choice([2, 2, 3])
        if (own - 1) * step < extent:
            rest = extent - 1 - (own - 1) * step
            second = [(v, e) for v, e in scope if v != variable and e - 1 <= rest]
            if second and r.random() < .6:
                return ("+", ("*", number(step), name(variable)), name(r.choice(second)[0]))
            return ("+", ("*", number(step), name(variable)), number(r.randint(0, rest)))
        return ("%", ("*", number(step), name(variable)), number(extent))


class Output:
    """An output with its dimensions: pairs of a variable and an extent; digits of one dimension stand in one list."""

    def __init__(self, dims, body):
        self.dims = dims
        self.body = body

    def scope(self):
        return [pair for dim in self.dims for pair in dim]

    @property
    def shape(self):
        result = []
        for dim in self.dims:
            extent = 1
            for _, e in dim:
                extent *= e
            result.append(extent)
        return result


class Operator:
    """A declared operator; `write` gives its text."""

    def __init__(self, own, operands, outputs, ties=None, lets=None):
        self.name = own
        self.operands = operands
        self.outputs = outputs
        self.ties = ties
        self.lets = lets or {}
        self.attributes = []

    def write(self):
        lines = [f"op {self.name}({', '.join(o.declared() for o in self.operands)})"]
        if self.attributes:
            lines.append("  {" + ", ".join(f"{a}: int" for a in self.attributes) + "}")
        if self.ties:
            lines.append(f"  ties {self.ties}")
        for own, (parameters, body) in self.lets.items():
            lines.append(f"  let {own}" + (f"[{', '.join(parameters)}]" if parameters else "") + f" = {text(body)}")
        for k, output in enumerate(self.outputs):
            dims = []
            for dim in output.dims:
                sized = [("sized", name(v), number(e)) for v, e in dim]
                dims.append(dimension(sized[0] if len(sized) == 1 else ("digits", sized)))
            lines.append(f"  -> y{k}[{', '.join(dims)}] = {text(output.body)}")
        return lines


def random_operator(random, own, operands, outputs=1, depth=3, first=None):
    """A random operator over given operands; `first` is the extent of the first output's first digit."""
    ties = random.choice([None, None, "even", "first", "all", "zero"])
    maker = Body(random, operands, ties)
    lets = {}
    if random.random() < .25:
        parameters = [("q1", 3)] if random.random() < .7 else []
        lets["part"] = ([p for p, _ in parameters], maker.real(parameters, 1))
    made = []
    for _ in range(outputs):
        dims, count = [], 0
        for _ in range(random.choice([1, 2, 2, 3])):
            digits = []
            for _ in range(1 if random.random() < .75 else 2):
                count += 1
                extent = random.choice([2, 2, 3, 4, 5, 6] if count < 2 else [1, 2, 2, 3, 4])
                digits.append((f"i{count}", first if first and count == 1 else extent))
            dims.append(digits)
        scope = [pair for dim in dims for pair in dim]
        body = maker.real(scope, depth)
        if random.random() < .45:
            body = maker.reduction(scope, depth)
        if lets and random.random() < .8:
            parameters, _ = lets["part"]
            call = (("read", "part", [maker.index(scope, 3) for _ in parameters], None) if parameters else name("part"))
            body = (random.choice(["+", "*", "-"]), body, call)
        made.append(Output(dims, body))
    return Operator(own, operands, made, ties, lets)
