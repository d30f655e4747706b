"""Expressions of the operator language, as the tuples of language_parser.py: written out, searched and rewritten."""

LOOSE = {"or": 0, "and": 1, "not": 2, "compare": 3, "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "negative": 6,
         "power": 7}


def text(e, within=0):
    """The expression as text; `within` is how tightly what stands around it binds."""
    kind = e[0]
    if kind in LOOSE:
        own = LOOSE[kind]
        inner = _loose(e, own)
        return f"({inner})" if own < within else inner
    if kind == "number":
        return _number(e[1], within)
    if kind == "name":
        return e[1]
    if kind == "infinity":
        return "(-inf)" if within else "-inf"
    if kind == "extent":
        return f"extent({e[1]})"
    if kind == "read":
        return f"{e[1]}[{', '.join(entry(i) for i in e[2])}]"
    if kind == "call":
        return f"{e[1]}({', '.join(text(a) for a in e[2])})"
    if kind == "where":
        return f"where({', '.join(text(a) for a in e[1:])})"
    if kind == "indicator":
        return f"[{text(e[1])}]"
    binders = ", ".join(name + (f" < {_bound(bound)}" if bound else "") for name, _, bound in e[2])
    return f"{e[1]}({binders}: {text(e[3])})"


def _bound(bound):
    return text(bound) if bound[0] in ("number", "name") else f"({text(bound)})"


def _number(value, within):
    if isinstance(value, int):
        return f"({value})" if value < 0 and within else str(value)
    return f"({value.numerator} / {value.denominator})"


def _loose(e, own):
    kind = e[0]
    if kind == "not":
        return f"not {text(e[1], own + 1)}"
    if kind == "negative":
        return f"-{text(e[1], own + 1)}"
    if kind == "power":
        return f"{text(e[1], own + 1)} ^ {text(e[2], own + 1)}"
    if kind == "compare":
        return f"{text(e[2], own + 1)} {e[1]} {text(e[3], own + 1)}"
    return f"{text(e[1], own)} {kind} {text(e[2], own + 1)}"


def entry(e):
    if e[0] == "digits":
        return f"({' '.join(text(d) for d in e[1])})"
    return text(e)


def dimension(e):
    """A dimension of an operand or an output: a name, a number, ("sized", name, extent) or digits."""
    if e[0] == "digits":
        return f"({' '.join(dimension(d) for d in e[1])})"
    if e[0] == "sized":
        return f"{text(e[1])}:{_bound(e[2])}"
    return text(e)


def parts(e):
    """The expressions directly within."""
    return [p for piece in e[1:] for p in (piece if isinstance(piece, list) else [piece])
            if isinstance(p, tuple) and p and isinstance(p[0], str) and p[0] in KINDS]


KINDS = set(LOOSE) | {"number", "name", "infinity", "extent", "read", "call", "where", "indicator", "reduce", "digits"}


def rebuilt(e, change):
    """The expression with `change` applied to those directly within."""
    def one(piece):
        if isinstance(piece, list):
            return [one(p) for p in piece]
        if isinstance(piece, tuple) and piece and isinstance(piece[0], str) and piece[0] in KINDS and len(piece) > 1:
            return change(piece)
        return piece
    if e[0] == "reduce":
        return ("reduce", e[1], e[2], change(e[3]))
    if e[0] == "digits":
        return ("digits", [change(d) for d in e[1]], e[2])
    return (e[0],) + tuple(one(p) for p in e[1:])


def substituted(e, replacements):
    """With expressions in place of free names."""
    if e[0] == "name":
        return replacements.get(e[1], e)
    if e[0] == "reduce":
        bound = {name for name, _, _ in e[2]}
        replacements = {n: r for n, r in replacements.items() if n not in bound}
    if e[0] == "digits":
        return _digits([substituted(d, replacements) for d in e[1]], e[2])
    return rebuilt(e, lambda inner: substituted(inner, replacements))


def _digits(digits, extents):
    """Digits of a composite dimension; as one expression if one of them is neither a name nor a number."""
    if all(d[0] in ("name", "number") for d in digits):
        return ("digits", digits, extents)
    total = digits[0]
    for digit, extent in zip(digits[1:], extents[1:]):
        total = ("+", ("*", total, number(extent)), digit)
    return total


def reads_of(e, operand):
    """The entries of all reads of an operand."""
    found = [e[2]] if e[0] == "read" and e[1] == operand else []
    for inner in parts(e) if e[0] != "reduce" else [e[3]]:
        found += reads_of(inner, operand)
    return found


def names_in(e):
    found = {e[1]} if e[0] == "name" else set()
    for inner in parts(e) if e[0] != "reduce" else [e[3]]:
        found |= names_in(inner)
    return found


def number(value):
    return ("number", value)


def name(text_):
    return ("name", text_)
