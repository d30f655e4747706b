"""Rewrites expressions of the operator language into others of the same value, by random laws of arithmetic.

Laws that would evaluate a read outside of the condition that guards it are left out. Whether two declarations really
agree is for the judge to say; a plan whose rewriting is wrong is a wrong plan, no more.
"""
from fractions import Fraction

from declarations import number, name, names_in, rebuilt, substituted

NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Rewriter:
    def __init__(self, random, share=.3):
        self.random = random
        self.share = share
        self.count = 0

    def rewrite(self, e):
        """Rewrites a random share of the expression's parts."""
        if e[0] == "read":
            return ("read", e[1], [self.rewrite_index(i) for i in e[2]], None)
        if e[0] == "compare" and all(self.is_index(side) for side in e[2:]):
            e = ("compare", e[1], self.rewrite_index(e[2]), self.rewrite_index(e[3]))
        elif e[0] != "power":
            e = rebuilt(e, self.rewrite)
        if self.random.random() >= self.share:
            return e
        laws = getattr(self, "of_" + LAWS.get(e[0], "none"))(e)
        return self.random.choice(laws)() if laws else e

    def is_index(self, e):
        if e[0] in ("read", "name"):
            return e[0] == "name" or e[1].startswith("id")
        if e[0] in ("+", "-", "*", "//", "%"):
            return self.is_index(e[1]) and self.is_index(e[2])
        return e[0] == "number" and isinstance(e[1], int)

    def rewrite_index(self, e):
        """The same for an expression of indices, where all numbers stay whole."""
        if e[0] == "digits":
            return e
        e = rebuilt(e, self.rewrite_index)
        if self.random.random() >= self.share:
            return e
        laws = {"+": [lambda: ("+", e[2], e[1]), lambda: ("-", e[1], ("-", number(0), e[2]))],
                "-": [lambda: ("+", ("*", number(-1), e[2]), e[1])],
                "*": [lambda: ("*", e[2], e[1])],
                "%": [lambda: ("-", e[1], ("*", e[2], ("//", e[1], e[2]))), lambda: ("%", ("+", e[1], e[2]), e[2])],
                "//": [lambda: ("-", ("//", ("+", e[1], e[2]), e[2]), number(1))],
                "name": [lambda: ("-", ("+", e, number(1)), number(1)), lambda: ("//", ("*", number(2), e), number(2))],
                }.get(e[0])
        return self.random.choice(laws)() if laws else e

    def variable(self):
        self.count += 1
        return f"r{self.count}"

    def of_none(self, e):
        return []

    def of_sum(self, e):
        _, a, b = e
        return [lambda: ("+", b, a), lambda: ("-", a, ("*", number(-1), b)), lambda: ("-", a, ("negative", b))]

    def of_difference(self, e):
        _, a, b = e
        return [lambda: ("+", a, ("negative", b)), lambda: ("negative", ("-", b, a)),
                lambda: ("+", ("*", number(-1), b), a)]

    def of_product(self, e):
        _, a, b = e
        laws = [lambda: ("*", b, a), lambda: ("negative", ("*", ("negative", a), b)),
                lambda: ("*", ("*", number(2), a), ("*", number(Fraction(1, 2)), b))]
        if b[0] in ("+", "-"):
            laws += 2 * [lambda: (b[0], ("*", a, b[1]), ("*", a, b[2]))]
        if a[0] in ("+", "-"):
            laws += 2 * [lambda: (a[0], ("*", a[1], b), ("*", a[2], b))]
        if b[0] == "reduce" and b[1] in ("sum", "mean") and not names_in(a) & {n for n, _, _ in b[2]}:
            laws += 3 * [lambda: ("reduce", b[1], b[2], ("*", a, b[3]))]
        if a[0] == "indicator":
            laws += 2 * [lambda: ("where", a[1], b, number(0))]
        return laws

    def of_power(self, e):
        _, a, exponent = e
        return [lambda: ("*", a, a) if exponent == number(2) else ("*", ("power", a, number(2)), a)]

    def of_where(self, e):
        _, condition, a, b = e
        laws = [lambda: ("where", ("not", condition), b, a)]
        if condition[0] == "compare":
            laws.append(lambda: ("where", ("compare", NEGATED[condition[1]], *condition[2:]), b, a))
        if condition[0] == "or":
            laws.append(lambda: ("where", condition[1], a, ("where", condition[2], a, b)))
        if condition[0] == "and":
            laws.append(lambda: ("where", condition[1], ("where", condition[2], a, b), b))
        laws.append(lambda: ("+", ("where", condition, a, number(0)), ("where", condition, number(0), b)))
        return laws

    def of_comparison(self, e):
        _, order, a, b = e
        laws = [lambda: ("compare", MIRRORED[order], b, a), lambda: ("not", ("compare", NEGATED[order], a, b))]
        if order == "==":
            laws.append(lambda: ("and", ("compare", "<=", a, b), ("compare", "<=", b, a)))
        return laws

    def of_logic(self, e):
        return [lambda: (e[0], e[2], e[1])]

    def of_indicator(self, e):
        return [lambda: ("-", number(1), ("indicator", ("not", e[1]))), lambda: ("power", e, number(2)),
                lambda: ("where", e[1], number(1), number(0))]

    def of_call(self, e):
        _, function, arguments = e
        if function == "abs":
            return [lambda: ("call", "abs", [("negative", arguments[0])])]
        a, b = arguments
        other = "min" if function == "max" else "max"
        half = number(Fraction(1, 2))
        sign = "+" if function == "max" else "-"
        return [lambda: ("call", function, [b, a]),
                lambda: ("negative", ("call", other, [("negative", a), ("negative", b)])),
                lambda: ("*", half, (sign, ("+", a, b), ("call", "abs", [("-", a, b)]))),
                lambda: ("+", ("call", function, [("-", a, b), number(0)]), b)]

    def of_reduction(self, e):
        _, kind, binders, body = e
        laws = []
        for k, (own, _, bound) in enumerate(binders):
            extent = bound[1]
            def replaced(new, expression, own=own, k=k):
                return ("reduce", kind, binders[:k] + new + binders[k + 1:], substituted(body, {own: expression}))
            fresh, second = self.variable(), self.variable()
            laws.append(lambda own=own, k=k, extent=extent, fresh=fresh, replaced=replaced: replaced(
                [(fresh, False, number(extent))], ("-", number(extent - 1), name(fresh))))
            if extent == 4:
                laws += 2 * [lambda replaced=replaced, fresh=fresh, second=second: replaced(
                    [(fresh, False, number(2)), (second, False, number(2))],
                    ("+", ("*", number(2), name(fresh)), name(second)))]
            if extent > 1 and kind != "mean":
                laws += 2 * [lambda k=k, own=own, extent=extent: self._split(e, k, extent)]
        if len(binders) == 2:
            laws.append(lambda: ("reduce", kind, binders[::-1], body))
            laws.append(lambda: ("reduce", kind, binders[:1], ("reduce", kind, binders[1:], body)))
        if kind == "sum" and body[0] in ("+", "-"):
            laws += 2 * [lambda: (body[0], ("reduce", kind, binders, body[1]), ("reduce", kind, binders, body[2]))]
        if kind == "mean":
            count = 1
            for _, _, bound in binders:
                count *= bound[1]
            laws.append(lambda: ("*", number(Fraction(1, count)), ("reduce", "sum", binders, body)))
        return laws

    def _split(self, e, k, extent):
        """A reduction over two ranges, one after the other."""
        _, kind, binders, body = e
        at = self.random.randint(1, extent - 1)
        own, fresh = binders[k][0], self.variable()
        low = ("reduce", kind, binders[:k] + [(own, False, number(at))] + binders[k + 1:], body)
        high = ("reduce", kind, binders[:k] + [(fresh, False, number(extent - at))] + binders[k + 1:],
                substituted(body, {own: ("+", name(fresh), number(at))}))
        return ("+", low, high) if kind == "sum" else ("call", kind, [low, high])


LAWS = {"+": "sum", "-": "difference", "*": "product", "power": "power", "where": "where", "compare": "comparison",
        "and": "logic", "or": "logic", "indicator": "indicator", "call": "call", "reduce": "reduction"}
