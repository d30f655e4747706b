"""Integer expressions over coordinates (docs/plan-format.md): + - * / %, parentheses, integers and names; / rounds
down.
"""
import functools
import re

from tensors import Malformed

TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.]*)|([-+*/%()]))")


class _Reader:
    def __init__(self, text):
        self.text = text
        self.tokens, at = [], 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            if not match:
                raise Malformed(f"expression {text!r}")
            self.tokens.append(match.group(match.lastindex))
            at = match.end()
        self.at = 0

    def next(self):
        if self.at == len(self.tokens):
            raise Malformed(f"expression {self.text!r} ends early")
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, among):
        if self.at < len(self.tokens) and self.tokens[self.at] in among:
            return self.next()
        return None

    def sum(self):
        left = self.product()
        while True:
            sign = self.accept("+-")
            if not sign:
                return left
            left = (sign, left, self.product())

    def product(self):
        left = self.factor()
        while True:
            sign = self.accept("*/%")
            if not sign:
                return left
            right = self.factor()
            if sign in "/%" and (not isinstance(right, int) or right <= 0):
                raise Malformed(f"expression {self.text!r} divides by what is no positive constant")
            left = (sign, left, right)

    def factor(self):
        if self.accept("-"):
            return ("-", 0, self.factor())
        if self.accept("("):
            inner = self.sum()
            if not self.accept(")"):
                raise Malformed(f"expression {self.text!r} lacks a parenthesis")
            return inner
        token = self.next()
        if token in ("+", "*", "/", "%", ")"):
            raise Malformed(f"expression {self.text!r}")
        return int(token) if token.isdigit() else token


def _is_varying(tree):
    """Whether names occur in it."""
    return isinstance(tree, str) or (isinstance(tree, tuple) and any(_is_varying(t) for t in tree[1:]))


def is_affine(text):
    """Whether it multiplies by constants only, as an expression of a map does."""
    if not isinstance(text, str):
        return True
    waiting = [_read(text)]
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, tuple):
            if tree[0] == "*" and _is_varying(tree[1]) and _is_varying(tree[2]):
                return False
            waiting += tree[1:]
    return True


@functools.lru_cache(maxsize=4096)
def _read(text):
    reader = _Reader(text)
    tree = reader.sum()
    if reader.at < len(reader.tokens):
        raise Malformed(f"expression {text!r}")
    return tree


def _value(tree, names):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        if tree not in names:
            raise Malformed(f"unknown name {tree!r} in an expression")
        return names[tree]
    sign, left, right = tree
    a, b = _value(left, names), _value(right, names)
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a // b,
            "%": lambda: a % b}[sign]()


def evaluate(text, names):
    """The value of an expression; an int is itself."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if not isinstance(text, str):
        raise Malformed(f"{text!r} is no expression")
    return _value(_read(text), names)


def names_in(text):
    """The names that an expression mentions."""
    if not isinstance(text, str):
        return set()
    found, waiting = set(), [_read(text)]
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, str):
            found.add(tree)
        elif isinstance(tree, tuple):
            waiting += tree[1:]
    return found


def attribute(value, names):
    """An attribute with its `=` expressions evaluated."""
    if isinstance(value, list):
        return [attribute(v, names) for v in value]
    if isinstance(value, str) and value.startswith("="):
        return evaluate(value[1:], names)
    return value


def attribute_names(value):
    if isinstance(value, list):
        return set().union(*(attribute_names(v) for v in value)) if value else set()
    return names_in(value[1:]) if isinstance(value, str) and value.startswith("=") else set()
