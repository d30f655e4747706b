"""Plans of declared operators with random index functions: cut along outputs or sums, rewritten, in uneven parts."""
import copy

import movement_identities
import pack_plans
from declarations import name, number, reads_of, rebuilt, substituted
from random_bodies import Operand, random_operator
from rewriting import Rewriter


def plan(random):
    return pack_plans.plan(random) if random.random() < .15 else Maker(random).make()


class Maker:
    def __init__(self, random):
        self.random = random
        self.leaves = {}  # name: type
        self.premises = {}
        self.model = []
        self.lines = []  # of declarations
        self.mesh = {}
        self.inputs = {}
        self.operators = []
        self.lineage = {}
        self.outputs = {}

    def make(self):
        r = self.random
        operands = self.operands()
        operator = random_operator(r, "f", operands, r.choice([1, 1, 1, 2]), r.choice([2, 2, 3]))
        self.lines += operator.write()
        results = [f"y{k}" for k in range(len(operator.outputs))]
        names = [self.prepared(o) for o in operands]
        self.model.append({"op": "f", "in": names, "out": results})
        strategy = r.choice([self.rewritten, self.sliced, self.sliced, self.sliced, self.reduced, self.uneven])
        programs = strategy(operator, names, results)
        return self.content(programs)

    def operands(self):
        r = self.random
        result = []
        for k in range(r.choice([1, 1, 2])):
            dims = [[r.choice([1, 2, 3, 4, 5, 6])] if r.random() < .75 else [r.choice([2, 3]), 2]
                    for _ in range(r.choice([1, 2, 2, 3]))]
            result.append(Operand("xw"[k], dims))
        if r.random() < .35:
            extents = [e for o in result for e in o.shape]
            high = r.choice(extents)
            ids = Operand("id", [[r.choice([2, 3, 4])] for _ in range(r.choice([1, 1, 2]))], (0, high))
            result.append(ids)
        for operand in result:
            kind = "int64" if operand.integer else "float32"
            self.leaves[operand.name] = f"{kind}{operand.shape}"
            if operand.integer and r.random() < .85:
                self.premises[operand.name] = list(operand.integer)
            elif operand.integer:
                operand.integer = (-9, 99)  # not for reads
        return result

    def prepared(self, operand):
        """The tensor that the model's operator reads: the input, or it moved about and back, or scaled."""
        r = self.random
        if operand.integer or r.random() < .7:
            return operand.name
        if r.random() < .5:
            moved, lines = movement_identities.somewhere_and_back(r, operand.name, operand.shape, f"{operand.name}.m.")
            self.model += moved
            self.lines += lines
            return moved[-1]["out"]
        self.model.append({"op": r.choice(["neg", "relu", "square"]), "in": operand.name, "out": operand.name + ".e"})
        return operand.name + ".e"

    def before(self, names):
        """The model's operators ahead of the declared one, for the plan; perhaps moved about in another way."""
        return copy.deepcopy([o for o in self.model if o["op"] != "f"])

    def changed(self, operator, own):
        """The plan's operator: rewritten or not."""
        r = self.random
        result = copy.deepcopy(operator)
        result.name = own
        if r.random() < .5:
            rewriter = Rewriter(r, r.choice([.15, .3, .5]))
            for output in result.outputs:
                output.body = rewriter.rewrite(output.body)
        return result

    # Ways to lay the operator out.

    def rewritten(self, operator, names, results):
        r = self.random
        own = self.changed(operator, "f_plan")
        self.lines += own.write()
        self.mesh = {"a": r.choice([1, 2])}
        self.outputs = {y: {} for y in results}
        return [{"inputs": {n: {} for n in self.leaves},
                 "operators": self.before(names) + [{"op": own.name, "in": names, "out": results}]}]

    def cut_places(self, operator):
        """(output, dimension, digit) whose extent can be cut."""
        return [(k, d, j) for k, output in enumerate(operator.outputs) for d, dim in enumerate(output.dims)
                for j, (_, extent) in enumerate(dim) if extent > 1]

    def cut(self, operator, k, d, j, axis, parts):
        """Lets the operator compute a part of one digit, from the attribute start_AXIS on."""
        output = operator.outputs[k]
        variable, extent = output.dims[d][j]
        output.dims[d][j] = (variable, extent // parts)
        start = f"start_{axis}"
        operator.attributes.append(start)
        output.body = substituted(output.body, {variable: ("+", name(variable), name(start))})
        return extent

    def sliced(self, operator, names, results):
        """Every rank computes a part of an output; perhaps from a part of an operand."""
        r = self.random
        own = self.changed(operator, "f_part")
        places = self.cut_places(own)
        if not places:
            return self.rewritten(operator, names, results)
        chosen = [r.choice(places)]
        if len(places) > 1 and r.random() < .35:
            chosen.append(r.choice([p for p in places if p != chosen[0]]))
        attributes, relations = {}, {}
        inputs = {n: {} for n in self.leaves}
        for axis, (k, d, j) in zip("ab", chosen):
            before = own.outputs[k].dims[d][j][1]
            parts = r.choice([p for p in (2, 3, 4, 5, 6) if before % p == 0] or [before])
            self.mesh[axis] = parts
            shared = self.share_operands(own, k, d, j, axis, parts, names, inputs, len(operator.outputs))
            extent = self.cut(own, k, d, j, axis, parts)
            for operand in shared:
                self.unshift(own, k, operand, axis)
            attributes[f"start_{axis}"] = f"={axis} * {extent // parts}"
        for k, output in enumerate(own.outputs):
            cuts = [(axis, d, j) for axis, (at, d, j) in zip("ab", chosen) if at == k]
            relations[results[k]] = self.relation(operator.outputs[k], output, cuts)
        self.lines += own.write()
        operators = self.before(names) + [{"op": "f_part", "in": names, "out": [y + ".p" for y in results],
                                           "attrs": attributes}]
        claims = {}
        for y in results:
            claims[y] = y + ".p"
            self.outputs[y] = relations[y]
            self.claim(y + ".p", {"of": y, **{k: v for k, v in relations[y].items() if k != "shape"}})
            key = next((k for k in relations[y] if k.isdigit()), None)
            if key and len(relations[y]) == 1 and r.random() < .4:
                operators.append({"op": "all_gather", "over": relations[y][key], "dim": int(key), "in": y + ".p",
                                  "out": y + ".g"})
                claims[y] = y + ".g"
                self.outputs[y] = {}
                self.claim(y + ".g", {"of": y})
        return [{"inputs": inputs, "operators": operators, "outputs": claims}]

    def share_operands(self, own, k, d, j, axis, parts, names, inputs, outputs):
        """Cuts operands, too, of which the operator reads exactly its own part."""
        if outputs > 1 or self.random.random() < .3:
            return []
        variable, extent = own.outputs[k].dims[d][j]
        shared = []
        for operand, given in zip(own.operands, names):
            if given != operand.name or any(key in inputs[given] for key in map(str, range(9))):
                continue
            reads = reads_of(own.outputs[k].body, operand.name) + [
                e for _, body in own.lets.values() for e in reads_of(body, operand.name)]
            for at, digits in enumerate(operand.dims):
                if reads and all(e[at] == ("name", variable) for e in reads) and digits == [extent]:
                    inputs[given] = {str(at): axis}
                    operand.dims[at] = [extent // parts]
                    shared.append((operand.name, at, variable))
                    break
        return shared

    def unshift(self, own, k, operand, axis):
        """Reads of an operand that is cut like the output count from its own beginning."""
        which, at, variable = operand
        shifted = ("+", name(variable), name(f"start_{axis}"))

        def change(e):
            if e[0] == "read" and e[1] == which:
                entries = list(e[2])
                if entries[at] == shifted:
                    entries[at] = name(variable)
                return ("read", which, entries, None)
            if e[0] == "reduce":
                return ("reduce", e[1], e[2], change(e[3]))
            return rebuilt(e, change)
        own.outputs[k].body = change(own.outputs[k].body)

    def relation(self, whole, local, cuts):
        """The slice that a rank holds, by its cut digits: a plain cut, or digits written out."""
        if all(j == 0 for _, _, j in cuts) and len({d for _, d, _ in cuts}) == len(cuts):
            if self.random.random() < .8:
                return {str(d): axis for axis, d, _ in cuts}
        expressions = []
        for d, (own, parts) in enumerate(zip(whole.dims, local.dims)):
            terms, above, below = [], 1, 1
            for (_, extent), (_, size) in reversed(list(zip(own, parts))):
                j = len(own) - 1 - len(terms)
                digit = f"i{d}" if above == 1 else f"i{d} / {above}"
                digit = f"({digit}) % {size}" if len(own) > 1 else digit
                axis = [a for a, at, k in cuts if (at, k) == (d, j)]
                if axis:
                    digit = f"({digit} + {axis[0]} * {size})"
                terms.append(f"{digit} * {below}" if below > 1 else digit)
                above, below = above * size, below * extent
            expressions.append(" + ".join(reversed(terms)))
        return {"map": expressions, "shape": local.shape}

    def reduced(self, operator, names, results):
        """Every rank computes a term of a sum, mean or maximum."""
        r = self.random
        own = self.changed(operator, "f_term")
        body = own.outputs[0].body
        if body[0] != "reduce" or len(results) > 1:
            return self.sliced(operator, names, results)
        _, kind, binders, inner = body
        k = r.randrange(len(binders))
        variable, _, bound = binders[k]
        extent = bound[1]
        parts = r.choice([p for p in (2, 3, 4, 5, 6) if extent % p == 0] or [extent])
        self.mesh = {"a": parts}
        if r.random() < .3:
            self.mesh = {"b": 2, "a": parts}
        own.attributes.append("start_a")
        binders = binders[:k] + [(variable, False, number(extent // parts))] + binders[k + 1:]
        own.outputs[0].body = ("reduce", kind, binders, substituted(
            inner, {variable: ("+", name(variable), name("start_a"))}))
        self.lines += own.write()
        self.outputs = {"y0": {}}
        total = {"sum": "sum", "mean": "avg", "max": "max", "min": "min"}[kind]
        if kind in ("sum", "max"):
            self.claim("term", {"of": "y0", "partial": "a" if kind == "sum" else {"max": "a"}})
        operators = self.before(names) + [
            {"op": "f_term", "in": names, "out": "term", "attrs": {"start_a": f"=a * {extent // parts}"}}]
        shape = own.outputs[0].shape
        fitting = [d for d, e in enumerate(shape) if e % parts == 0 and e]
        if fitting and r.random() < .35:
            d = r.choice(fitting)
            operators.append({"op": "reduce_scatter", "over": "a", "dim": d, "reduce": total, "in": "term",
                              "out": "y0"})
            self.outputs = {"y0": {str(d): "a"}}
        else:
            operators.append({"op": "all_reduce", "over": "a", "reduce": total, "in": "term", "out": "y0"})
        return [{"inputs": {n: {} for n in self.leaves}, "operators": operators}]

    def uneven(self, operator, names, results):
        """A program for every rank, each with a part of its own size."""
        r = self.random
        places = [(k, d, j) for k, d, j in self.cut_places(operator) if k == 0 and j == 0 and
                  len(operator.outputs[0].dims[d]) == 1]
        if not places or len(results) > 1:
            return self.sliced(operator, names, results)
        _, d, _ = r.choice(places)
        variable, extent = operator.outputs[0].dims[d][0]
        cuts = sorted(r.sample(range(1, extent), min(extent - 1, r.choice([1, 1, 2]))))
        sizes = [b - a for a, b in zip([0] + cuts, cuts + [extent])]
        self.mesh = {"a": len(sizes)}
        programs = []
        gathered = r.random() < .5
        listed = [f"r{rank}:part" for rank in range(len(sizes))]
        for rank, size in enumerate(sizes):
            own = self.changed(operator, f"f_part{rank}")
            own.outputs[0].dims[d] = [(variable, size)]
            own.outputs[0].body = substituted(own.outputs[0].body, {variable: (
                "+", name(variable), number(sum(sizes[:rank])))})
            self.lines += own.write()
            operators = self.before(names) + [{"op": own.name, "in": names, "out": "part"}]
            program = {"name": f"r{rank}", "devices": {"a": rank}, "inputs": {n: {} for n in self.leaves},
                       "operators": operators, "outputs": {"y0": "part"}}
            if gathered:
                operators.append({"op": "all_gather", "in": listed, "dim": d, "out": "y0"})
                del program["outputs"]
            if r.random() < .5:
                program["lineage"] = {"part": {"of": "y0", str(d): {"over": "a", "sizes": sizes}}}
            programs.append(program)
        self.outputs = {"y0": {} if gathered else {str(d): {"over": "a", "sizes": sizes}}}
        return programs

    def claim(self, tensor, relation):
        self.lineage[tensor] = relation

    def content(self, programs):
        if self.lineage and self.random.random() < .5:
            programs[0]["lineage"] = self.lineage
        specification = {"inputs": self.leaves, "operators": self.model, "outputs": self.outputs}
        if self.premises:
            specification["premises"] = self.premises
        return {"planproof": 1, "operators": self.lines, "specification": specification,
                "plan": {"mesh": self.mesh or {"a": 1}, "programs": programs}}
