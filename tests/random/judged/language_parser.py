"""Parses declarations in the operator language (docs/operator-language.md) into plain tuples.

Expressions are tuples whose first entry says what they are:
  ("number", value)  ("infinity",)  ("name", name)  ("extent", name)
  ("read", name, entries, at_entries)   an element of an operand, or a let with parameters
  ("+", a, b) and likewise - * / // %   ("negative", a)  ("power", a, exponent)
  ("call", function, [arguments])       ("reduce", kind, binders, body)
  ("where", condition, a, b)            ("indicator", condition)
  ("compare", order, a, b)  ("and", a, b)  ("or", a, b)  ("not", a)
Entries of indices are expressions, ("pack", name) or ("digits", [entries]). In the dimensions of operands and outputs
an entry may also be ("sized", entry, extent). Binders are (name, is a pack, bound or None).
"""
import re
from dataclasses import dataclass, field
from fractions import Fraction

TOKEN = re.compile(r"""\s*(?:\#[^\n]*\n?\s*)*(?:
    (?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<text>"[^"]*")
  | (?P<symbol>->|\.\.|//|==|!=|<=|>=|[-+*/%^()\[\]{}<>=,:|?]))""", re.VERBOSE)
FUNCTIONS = ("exp", "log", "sqrt", "rsqrt", "erf", "tanh", "sigmoid", "sin", "cos", "abs")
REDUCTIONS = ("sum", "mean", "max", "min")


class LanguageError(Exception):
    """The text is no declaration."""


@dataclass
class Operand:
    name: str
    entries: list = None  # None: elementwise
    at_entries: list = None
    optional: bool = False
    default: object = 0
    integer: bool = False


@dataclass
class Output:
    name: str
    entries: list = None
    at_entries: list = None
    kind: object = None  # None, an element type, or ("like", operand)
    body: object = None


@dataclass
class Attribute:
    name: str
    type: str = None
    default: object = None
    required: bool = False
    ignored: bool = False
    only: bool = False


@dataclass
class Declaration:
    names: list
    operands: list = field(default_factory=list)
    attributes: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    lets: dict = field(default_factory=dict)  # name: (parameters, body)
    conditions: list = field(default_factory=list)  # when: (attribute, value)
    places: list = field(default_factory=list)  # (names, attribute)
    kept: str = None
    ties: str = None
    premises: list = field(default_factory=list)
    stop_gradient: bool = False


class Parser:
    def __init__(self, text):
        self.tokens = []
        at, text = 0, text + "\n"
        while text[at:].strip() and not re.fullmatch(r"(\s*#[^\n]*)*\s*", text[at:]):
            match = TOKEN.match(text, at)
            if not match:
                raise LanguageError(f"cannot read {text[at:at + 20]!r}")
            self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        self.at = 0

    # Tokens.

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else None

    def type_of(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            raise LanguageError(f"expected {expected!r}, found {token!r}")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token and self.type_of() != "text":
            self.at += 1
            return True
        return False

    def name(self):
        if self.type_of() != "name":
            raise LanguageError(f"expected a name, found {self.peek()!r}")
        return self.take()

    def list_until(self, end, item):
        items = []
        while not self.accept(end):
            if items:
                self.take(",")
            items.append(item())
        return items

    # Declarations.

    def declarations(self):
        found = []
        while self.peek() is not None:
            found.append(self.declaration())
        return found

    def declaration(self):
        self.take("op")
        result = Declaration([self.operator_name()])
        while self.accept(","):
            result.names.append(self.operator_name())
        self.take("(")
        result.operands = self.list_until(")", self.operand)
        if self.accept("{"):
            result.attributes = self.list_until("}", self.attribute)
        while self.peek() not in ("->", "op", None):
            self.clause(result)
        while self.accept("->"):
            result.outputs.append(self.output())
        if not result.outputs:
            raise LanguageError("an operator has an output")
        return result

    def operator_name(self):
        return self.take().strip('"')

    def operand(self):
        result = Operand(self.name())
        if self.accept("["):
            result.entries, result.at_entries = self.dimensions()
        if self.accept("?"):
            result.optional = True
            if self.accept("="):
                result.default = self.literal()
        if self.accept(":"):
            self.take("int")
            result.integer = True
        return result

    def output(self):
        result = Output(self.name())
        if self.accept("["):
            result.entries, result.at_entries = self.dimensions()
        if self.accept(":"):
            result.kind = self.name()
            if result.kind == "like":
                result.kind = ("like", self.name())
        self.take("=")
        result.body = self.expression()
        return result

    def dimensions(self):
        """The entries up to `]`, and those after `|`."""
        entries, at_entries = [], None
        while not self.accept("]"):
            if self.accept("|"):
                at_entries = []
                continue
            if (entries if at_entries is None else at_entries) and self.peek(-1) != "|":
                self.take(",")
            (entries if at_entries is None else at_entries).append(self.dimension())
        return entries, at_entries

    def dimension(self):
        if self.peek() == "(":
            self.take()
            digits = []
            while not self.accept(")"):
                digits.append(self.dimension())
            return ("digits", digits)
        if self.type_of() == "number":
            return ("number", int(self.take()))
        name = self.name()
        if self.accept(".."):
            return ("pack", name)
        if self.accept(":"):
            return ("sized", ("name", name), self.extent())
        return ("name", name)

    def extent(self):
        if self.accept("("):
            result = self.expression()
            self.take(")")
            return result
        return self.primary()

    def attribute(self):
        result = Attribute("")
        word = self.name()
        if word in ("ignore", "only") and self.type_of() == "name":
            result.ignored, result.only = word == "ignore", word == "only"
            word = self.name()
        result.name = word
        if self.accept(":"):
            result.type = self.name()
        if self.accept("="):
            result.default = self.literal()
        else:
            result.required = True
        return result

    def literal(self):
        if self.type_of() == "text":
            return self.take()[1:-1]
        if self.accept("("):
            return self.list_until(")", self.literal)
        sign = -1 if self.accept("-") else 1
        word = self.take()
        if word in ("none", "true", "false"):
            return {"none": None, "true": True, "false": False}[word]
        return sign * number(word)

    def clause(self, result):
        word = self.name()
        if word == "where":
            self.place(result)
        elif word == "when":
            while True:
                attribute = self.name()
                self.take("=")
                result.conditions.append((attribute, self.literal()))
                if not self.accept(","):
                    break
        elif word == "let":
            name = self.name()
            parameters = self.list_until("]", self.name) if self.accept("[") else []
            self.take("=")
            result.lets[name] = (parameters, self.expression())
        elif word == "ties":
            result.ties = self.name()
        elif word == "premise":
            result.premises.append(self.expression())
            self.take()
        elif word == "assume":
            self.take()
        elif word == "stop_gradient":
            result.stop_gradient = True
        else:
            raise LanguageError(f"unknown clause {word!r}")

    def place(self, result):
        names = [self.name()]
        self.accept("..")
        self.take("at")
        result.places.append((names, self.name()))
        if self.accept(","):
            self.take("kept")
            self.take("if")
            result.kept = self.name()

    # Expressions, loosest first.

    def expression(self):
        left = self.conjunction()
        while self.accept("or"):
            left = ("or", left, self.conjunction())
        return left

    def conjunction(self):
        left = self.negation()
        while self.accept("and"):
            left = ("and", left, self.negation())
        return left

    def negation(self):
        if self.accept("not"):
            return ("not", self.negation())
        return self.comparison()

    def comparison(self):
        left = self.sum()
        if self.type_of() == "symbol" and self.peek() in ("==", "!=", "<", "<=", ">", ">="):
            return ("compare", self.take(), left, self.sum())
        return left

    def sum(self):
        left = self.product()
        while self.peek() in ("+", "-"):
            left = (self.take(), left, self.product())
        return left

    def product(self):
        left = self.signed()
        while self.peek() in ("*", "/", "//", "%"):
            left = (self.take(), left, self.signed())
        return left

    def signed(self):
        if self.accept("-"):
            operand = self.signed()
            return ("infinity",) if operand == ("name", "inf") else ("negative", operand)
        base = self.primary()
        if self.accept("^"):
            return ("power", base, self.signed())
        return base

    def primary(self):
        if self.type_of() == "number":
            return ("number", number(self.take()))
        if self.accept("("):
            result = self.expression()
            self.take(")")
            return result
        if self.accept("["):
            result = ("indicator", self.expression())
            self.take("]")
            return result
        name = self.name()
        if self.peek() == "(":
            return self.call(name)
        if self.accept("["):
            entries, at_entries = self.read_entries()
            return ("read", name, entries, at_entries)
        return ("name", name)

    def read_entries(self):
        entries, at_entries = [], None
        while not self.accept("]"):
            if self.accept("|"):
                at_entries = []
                continue
            if (entries if at_entries is None else at_entries) and self.peek(-1) != "|":
                self.take(",")
            (entries if at_entries is None else at_entries).append(self.entry())
        return entries, at_entries

    def entry(self):
        if self.type_of() == "name" and self.peek(1) == "..":
            name = self.name()
            self.take("..")
            return ("pack", name)
        if self.peek() == "(" and self.is_digits():
            self.take()
            digits = []
            while not self.accept(")"):
                digits.append(self.primary())
            return ("digits", digits)
        return self.expression()

    def is_digits(self):
        """Whether the parentheses hold names and numbers side by side, as a composite dimension does."""
        ahead, count = 1, 0
        while self.peek(ahead) != ")":
            if self.type_of(ahead) not in ("name", "number"):
                return False
            ahead, count = ahead + 1, count + 1
        return count > 1

    def call(self, name):
        if name in REDUCTIONS and self.has_binders():
            self.take("(")
            binders = self.list_until(":", self.binder)
            body = self.expression()
            self.take(")")
            return ("reduce", name, binders, body)
        self.take("(")
        arguments = self.list_until(")", self.expression)
        if name == "where" and len(arguments) == 3:
            return ("where", *arguments)
        if name == "extent" and arguments[0][0] == "name":
            return ("extent", arguments[0][1])
        if name not in FUNCTIONS and name not in ("max", "min"):
            raise LanguageError(f"unknown function {name!r}")
        return ("call", name, arguments)

    def has_binders(self):
        """Whether a colon stands directly within the parentheses that come next."""
        depth, ahead = 0, 0
        while self.peek(ahead) is not None:
            token = self.peek(ahead)
            depth += (token in ("(", "[")) - (token in (")", "]"))
            if depth == 0:
                return False
            if depth == 1 and token == ":":
                return True
            ahead += 1
        return False

    def binder(self):
        name = self.name()
        if self.accept(".."):
            return (name, True, None)
        return (name, False, self.extent() if self.accept("<") else None)


def number(text):
    value = Fraction(text)
    return value.numerator if value.denominator == 1 else value


def parse(text):
    """Text, or a list of lines, to declarations."""
    return Parser(text if isinstance(text, str) else "\n".join(text)).declarations()
