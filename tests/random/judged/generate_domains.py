"""Divisions, roots and logarithms, guarded or not, under premises or not, and the same in another form in the plan.

Many of the forms agree wherever both are defined, but one is defined at more inputs: then the plan is right only if
it is the plan.
"""

POSITIVE, ANY = "positive", "any"

# Pairs of expressions over u and v, in rows of equal value: nested tuples of operators.
ELEMENTWISE = [
    [("div", "u", "v"), ("mul", "u", ("reciprocal", "v")), ("neg", ("div", "u", ("neg", "v")))],
    [("div", ("mul", "u", "v"), "v"), "u", ("mul", ("div", "u", "v"), "v")],
    [("log", ("mul", "u", "v")), ("add", ("log", "u"), ("log", "v"))],
    [("log", ("div", "u", "v")), ("sub", ("log", "u"), ("log", "v")), ("neg", ("log", ("div", "v", "u")))],
    [("exp", ("log", "u")), "u", ("log", ("exp", "u"))],
    [("sqrt", ("square", "u")), ("abs", "u"), ("maximum", "u", ("neg", "u"))],
    [("square", ("sqrt", "u")), "u"],
    [("mul", ("sqrt", "u"), ("sqrt", "v")), ("sqrt", ("mul", "u", "v"))],
    [("div", ("sqrt", "u"), ("sqrt", "v")), ("sqrt", ("div", "u", "v")), ("mul", ("sqrt", "u"), ("rsqrt", "v"))],
    [("rsqrt", "u"), ("reciprocal", ("sqrt", "u")), ("pow", "u", -0.5), ("sqrt", ("reciprocal", "u"))],
    [("mul", "u", ("rsqrt", "u")), ("sqrt", "u"), ("pow", "u", 0.5)],
    [("where", ("gt", "u", 0), ("log", "u"), 0),
     ("where", ("gt", "u", 0), ("log", ("where", ("gt", "u", 0), "u", 1)), 0),
     ("log", ("where", ("gt", "u", 0), "u", 1)), ("mul", ("float", ("gt", "u", 0)), ("log", "u"))],
    [("where", ("ne", "v", 0), ("div", "u", "v"), 0),
     ("mul", ("float", ("ne", "v", 0)), ("div", "u", ("where", ("ne", "v", 0), "v", 1))),
     ("mul", ("float", ("ne", "v", 0)), ("div", "u", "v")), ("div", ("where", ("ne", "v", 0), "u", 0), "v")],
    [("pow", "u", 3), ("mul", "u", ("square", "u"))],
    [("pow", "u", -2), ("reciprocal", ("square", "u")), ("square", ("reciprocal", "u"))],
    [("exp", ("add", "u", "v")), ("mul", ("exp", "u"), ("exp", "v"))],
    [("exp", ("neg", "u")), ("reciprocal", ("exp", "u"))],
    [("sigmoid", "u"), ("div", ("exp", "u"), ("add", ("exp", "u"), 1)),
     ("reciprocal", ("add", ("exp", ("neg", "u")), 1)),
     ("mul", ("add", ("tanh", ("mul", "u", 0.5)), 1), 0.5)],
    [("div", "u", "u"), ("add", ("mul", "u", 0), 1)],
    [("reciprocal", ("reciprocal", "u")), "u"],
    [("log", ("square", "u")), ("mul", ("log", ("abs", "u")), 2), ("mul", ("log", "u"), 2)],
    [("sub", ("div", "u", "v"), ("div", "u", "v")), ("mul", "u", 0)],
    [("div", ("relu", "u"), "u"), ("float", ("gt", "u", 0)), ("mul", ("reciprocal", "u"), ("relu", "u"))],
    [("sqrt", ("relu", "u")), ("relu", ("sqrt", "u")), ("where", ("ge", "u", 0), ("sqrt", ("abs", "u")), 0),
     ("where", ("ge", "u", 0), ("sqrt", "u"), 0)],
    [("div", "u", ("add", ("square", "v"), 1)), ("mul", "u", ("reciprocal", ("add", 1, ("mul", "v", "v"))))],
    [("sub", ("reciprocal", "u"), ("reciprocal", "v")), ("div", ("sub", "v", "u"), ("mul", "u", "v"))],
    [("div", ("sub", ("square", "u"), ("square", "v")), ("sub", "u", "v")), ("add", "u", "v")],
    [("log", ("clamp", "u")), ("maximum", ("log", "u"), 0)],
    [("mul", ("log", "u"), 0), ("mul", "u", 0)],
    [("add", ("sqrt", "u"), ("neg", ("sqrt", "u"))), ("mul", "v", 0), ("sub", ("rsqrt", "u"), ("rsqrt", "u"))],
    [("exp", ("mul", ("log", "u"), 2)), ("square", "u")],
    [("div", ("div", "u", "v"), "v"), ("div", "u", ("square", "v"))],
]
# Of rows (the last dimension) of u; None stands for the operator's dimension.
ROWS = [
    [("softmax", "u"), ("div", ("exp", "u"), ("sum", ("exp", "u"))),
     ("div", ("exp", ("sub", "u", ("max", "u"))), ("sum", ("exp", ("sub", "u", ("max", "u")))))],
    [("log_softmax", "u"), ("sub", "u", ("log", ("sum", ("exp", "u")))), ("log", ("softmax", "u"))],
    [("logsumexp", "u"), ("log", ("sum", ("exp", "u"))),
     ("add", ("max", "u"), ("log", ("sum", ("exp", ("sub", "u", ("max", "u"))))))],
    [("div", "u", ("sum", "u")), ("mul", "u", ("reciprocal", ("sum", "u"))),
     ("div", ("div", "u", 2), ("sum", ("div", "u", 2)))],
    [("sum", ("div", "u", ("max", "u"))), ("div", ("sum", "u"), ("max", "u"))],
    [("rms_norm", "u"), ("mul", "u", ("rsqrt", ("add", ("mean", ("square", "u")), 0.000001))),
     ("div", "u", ("sqrt", ("add", ("mean", ("square", "u")), 0.000001)))],
    [("mul", "u", ("rsqrt", ("mean", ("square", "u")))), ("div", "u", ("sqrt", ("mean", ("square", "u"))))],
    [("log", ("sum", "u")), ("add", ("log", ("mean", "u")), ("log", ("sum", ("add", ("mul", "u", 0), 1))))],
    [("sqrt", ("sum", ("square", "u"))), ("exp", ("mul", ("log", ("sum", ("square", "u"))), 0.5))],
]
NAMES = {"sum", "max", "mean", "softmax", "log_softmax", "logsumexp", "rms_norm"}
IN_TEXT = {"add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})", "neg": "(-{0})",
           "reciprocal": "(1 / {0})", "square": "({0} ^ 2)", "abs": "abs({0})", "maximum": "max({0}, {1})",
           "relu": "max({0}, 0)",
           "where": "where({0}, {1}, {2})", "gt": "{0} > {1}", "ge": "{0} >= {1}", "ne": "{0} != {1}", "float": "[{0}]",
           "clamp": "max({0}, 1)", "pow": "({0} ^ {1})"}


def plan(random):
    return Maker(random).make()


class Maker:
    def __init__(self, random):
        self.random = random
        self.count = 0
        self.declared = []
        self.mesh, self.cut = {}, {}

    def fresh(self):
        self.count += 1
        return f"t{self.count}"

    def make(self):
        r = self.random
        if r.random() < .08:
            return self.lookup()
        rows = r.random() < .35
        self.shape = [r.choice([2, 3, 4]), r.choice([1, 2, 3, 4])]
        self.mesh = {"dp": r.choice([1, 2, 3])}
        self.shape[0] *= self.mesh["dp"]
        self.cut = {"0": "dp"}
        if r.random() < .5:
            self.mesh["tp"] = r.choice([2, 3])
            self.shape[1] = self.mesh["tp"] * r.choice([1, 2])
            self.cut["1"] = "tp"
        expressions = r.choice(ROWS if rows else ELEMENTWISE)
        first, second = r.sample(expressions, 2)
        inner = {"u": self.operand("x"), "v": self.operand("y")}
        model = self.filled(first, inner)
        other = self.filled(second, inner)
        outer = r.choice([None, None, "square", "exp", "neg"])
        if outer:
            model, other = (outer, model), (outer, other)
        specification, operators, lineage = [], [], {}
        self.emit(model, specification, "y.out", False)
        self.emit(other, operators, "y.out", "tp" in self.mesh)
        kept = first[0] in ("logsumexp", "log", "sqrt", "sum") if rows and isinstance(first, tuple) else False
        relation = {"0": "dp"} if kept else self.cut
        if r.random() < .3:
            lineage = {operators[-1]["out"]: {"of": "y.out", **relation}}
        words = {name: r.choice([None, None, "positive", "nonzero", "nonnegative"]) for name in ("x", "y")}
        premises = {name: word for name, word in words.items() if word}
        return {"planproof": 1, "operators": self.declared,
                "specification": {"inputs": {"x": self.shape, "y": self.shape}, "operators": specification,
                                  "premises": premises, "outputs": {"y.out": relation}},
                "plan": {"mesh": self.mesh, "programs": [
                    {"inputs": {"x": self.cut, "y": self.cut}, "operators": operators, "lineage": lineage}]}}

    def operand(self, own):
        """An expression of one input, of any or of a certain sign."""
        r = self.random
        other = "y" if own == "x" else "x"
        return r.choice([own, own, own, ("square", own), ("add", ("square", own), 1), ("abs", own), ("relu", own),
                         ("neg", own), ("exp", own), ("sub", own, other), ("add", own, 1),
                         ("add", ("abs", own), 0.5), ("mul", own, other)])

    def filled(self, e, inner):
        if isinstance(e, str):
            return inner.get(e, e)
        if isinstance(e, tuple):
            return (e[0],) + tuple(self.filled(part, inner) for part in e[1:])
        return e

    def emit(self, e, into, out, cut):
        """Operators that compute an expression; `cut`: rows are distributed over tp."""
        r = self.random
        if isinstance(e, str):
            into.append({"op": "identity", "in": e, "out": out})
            return
        if r.random() < .25 and self.is_text(e):
            self.declare(e, into, out)
            return
        operands = []
        for part in e[1:]:
            if isinstance(part, tuple):
                name = self.fresh()
                self.emit(part, into, name, cut)
                operands.append(name)
            else:
                operands.append(part)
        self.operator(e[0], operands, into, out, cut)

    def operator(self, op, operands, into, out, cut):
        attrs = {}
        if op in NAMES:
            attrs = {"dim": -1} if op != "rms_norm" else {}
            if op in ("sum", "max", "mean", "logsumexp"):
                attrs["keepdim"] = True
        elif op == "clamp":
            attrs = {"min": 1}
        content = {"op": op, "in": operands if len(operands) > 1 else operands[0], "out": out}
        if attrs:
            content["attrs"] = attrs
        if op in NAMES and cut:
            if op in ("sum", "max", "mean"):
                part = self.fresh()
                into.append({**content, "out": part})
                into.append({"op": "all_reduce", "over": "tp", "reduce": "avg" if op == "mean" else op, "in": part,
                             "out": out})
                return
            whole, done = self.fresh(), self.fresh()
            into.append({"op": "all_gather", "over": "tp", "dim": 1, "in": operands[0], "out": whole})
            if op == "logsumexp":
                into.append({**content, "in": whole})
                return
            into.append({**content, "in": whole, "out": done})
            into.append({"op": "chunk", "over": "tp", "dim": 1, "in": done, "out": out})
            return
        into.append(content)

    def is_text(self, e):
        """Whether the operator language has all of it, elementwise."""
        if isinstance(e, tuple):
            return (e[0] in IN_TEXT or e[0] in ("exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh")) and all(
                self.is_text(part) for part in e[1:])
        return True

    def text(self, e):
        if isinstance(e, tuple):
            parts = [self.text(part) for part in e[1:]]
            return IN_TEXT.get(e[0], e[0] + "({0})").format(*parts)
        return f"({e})" if isinstance(e, (int, float)) and e < 0 else str(e)

    def leaves_of(self, e):
        if isinstance(e, tuple):
            return {leaf for part in e[1:] for leaf in self.leaves_of(part)}
        return {e} if isinstance(e, str) else set()

    def declare(self, e, into, out):
        leaves = sorted(self.leaves_of(e))
        if not leaves:
            leaves = ["x"]
        name = self.fresh().replace("t", "d")
        self.declared += [f"op {name}({', '.join(leaves)})", "  ties even", f"  -> z = {self.text(e)}"]
        into.append({"op": name, "in": leaves, "out": out})

    def lookup(self):
        """Rows of a table by numbers that may lie outside of it."""
        r = self.random
        rows, count = r.choice([2, 3, 4]), r.choice([2, 3, 4])
        shift = r.choice([0, 0, 1])
        forms = {
            "guarded": [f"op guarded(id[t]: int, w[v, h]) -> y[t, h] = sum(v: [id[t] - {shift} == v] * w[v, h])"],
            "chosen": ["op chosen(id[t]: int, w[v, h])", f"  let row[t2] = id[t2] - {shift}",
                       f"  -> y[t, h] = where(0 <= row[t] and row[t] < {rows}, w[row[t], h], 0)"],
            "plain": ["op plain(id[t]: int, w[v, h])", '  premise 0 <= id[t] "not negative"',
                      f"  -> y[t, h] = sum(v: [id[t] - {shift} == v] * w[v, h])"],
        }
        first, second = r.choice(list(forms)), r.choice([*forms, "embedding"])
        declared = [line for name in {first, second} & set(forms) for line in forms[name]]
        premises = r.choice([{}, {"id": [0, rows + shift]}, {"id": [-2, rows]}, {"id": [shift, rows + 2]}])
        operator = {"op": second, "in": ["id", "w"], "out": "y"}
        mesh, inputs, after = {"dp": 2}, {"id": {}, "w": {}}, []
        if second == "embedding":
            operator["attrs"] = {"start": shift}
            if rows % 2 == 0:
                size = rows // 2
                operator["attrs"] = {"start": f"=dp * {size} + {shift}", "stop": f"=dp * {size} + {size + shift}"}
                operator["out"] = "part"
                inputs["w"] = {"0": "dp"}
                after = [{"op": "all_reduce", "over": "dp", "in": "part", "out": "y"}]
        return {"planproof": 1, "operators": declared,
                "specification": {"inputs": {"id": f"int64[{count}]"}, "parameters": {"w": [rows, 2]},
                                  "premises": premises,
                                  "operators": [{"op": first, "in": ["id", "w"], "out": "y"}], "outputs": {"y": {}}},
                "plan": {"mesh": mesh, "programs": [{"inputs": inputs, "operators": [operator] + after}]}}
