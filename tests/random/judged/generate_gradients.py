"""Models with kinks and ties, their gradients, and plans that differentiate operator by operator on cut tensors.

Every dimension has a letter. An axis of the mesh, or the microbatch, cuts one letter, wherever it stands. Reductions
over a cut letter need a collective in the forward pass, gradients of tensors without the letter one in the backward
pass.
"""
import copy

import stages
from kinks import DISGUISES, ROWS, SINGLE

def plan(random):
    content = Maker(random).make()
    return stages.split(content, random) if random.random() < .2 else content


class Tensor:
    def __init__(self, name, letters, real=True):
        self.name = name
        self.letters = letters
        self.real = real


class Operator:
    """A logical operator: content, operands, output, all letters it runs over, and how it reduces one, if it does."""

    def __init__(self, content, operands, output, letters, reduced=None, how=None):
        self.content = content
        self.operands = operands
        self.output = output
        self.letters = letters
        self.reduced = reduced
        self.how = how  # sum, mean, max or min


class Maker:
    def __init__(self, random):
        self.random = random
        self.count = 0
        self.declared = []
        self.extents = {}
        self.tensors = []
        self.leaves = {"inputs": {}, "parameters": {}}
        self.premises = {}
        self.steps = []
        self.forward = []
        self.backward = []
        self.lineage = {}

    def make(self):
        r = self.random
        self.lay_out()
        self.add_leaves()
        for _ in range(r.choice([1, 2, 2, 3, 3, 4])):
            self.step()
        loss = self.close()
        of = [n for n in self.leaves["parameters"]] + (["x"] if r.random() < .4 else [])
        self.run_forward()
        grads = self.run_backward(loss, of)
        return self.content(loss, of, grads)

    def fresh(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    def lay_out(self):
        """Extents of the letters, and the axes that cut them."""
        r = self.random
        self.mesh, self.cuts, self.microbatches = {}, {}, 1
        self.extents = {"b": r.choice([2, 3, 4]), "f": r.choice([2, 3, 4]), "g": r.choice([2, 3]),
                        "v": r.choice([2, 3, 4])}
        for axis, letters in (("dp", "b"), ("tp", "fgv")):
            if r.random() < .75 or not self.mesh:
                letter = r.choice(letters)
                self.mesh[axis] = r.choice([2, 2, 3])
                self.cuts.setdefault(letter, []).append(axis)
                self.extents[letter] = self.mesh[axis] * r.choice([1, 1, 2])
        if r.random() < .3:
            self.microbatches = 2
            self.cuts.setdefault("b", []).append("microbatch")
            self.extents["b"] *= 2

    def extent(self, axis):
        return self.microbatches if axis == "microbatch" else self.mesh[axis]

    def parts(self, letter):
        total = 1
        for axis in self.cuts.get(letter, []):
            total *= self.extent(axis)
        return total

    def axes(self, letters):
        return [a for letter in letters for a in self.cuts.get(letter, [])]

    def relation(self, letters):
        return {str(k): own[0] if len(own) == 1 else own for k, own in
                ((k, self.cuts.get(letter, [])) for k, letter in enumerate(letters)) if own}

    def leaf(self, role, name, letters, kind="float32"):
        self.leaves[role][name] = f"{kind}{[self.extents[letter] for letter in letters]}"
        self.tensors.append(Tensor(name, letters, kind.startswith("float")))

    def add_leaves(self):
        r = self.random
        self.leaf("inputs", "x", r.choice(["bf", "bf", "b", "bgf"]))
        self.leaf("parameters", "w", r.choice(["f", "bf", "gf", "b", "f"]))
        if r.random() < .5:
            self.leaf("parameters", "u", r.choice(["gf", "f", "fg"]))
        if r.random() < .3:
            self.leaf("inputs", "id", "b", "int64")
            self.leaf("parameters", "table", "vf")
            self.premises["id"] = [0, self.extents["v"]]
        if r.random() < .25:
            self.leaf("inputs", "mask", "bf", "bool")

    def named(self, name):
        return next((t for t in self.tensors if t.name == name), None)

    def pick(self, letters=None):
        """A real tensor, the newest more often."""
        found = [t for t in self.tensors if t.real and t.name != "table" and (letters is None or t.letters == letters)]
        if not found:
            return None
        return found[-1] if self.random.random() < .55 else self.random.choice(found)

    def add(self, op, operands, letters, attrs=None, reduced=None, how=None, over=None):
        """`letters` are the output's; `over` all that the operator runs over, if there are more."""
        out = Tensor(self.fresh(), letters)
        content = {"op": op, "in": [o.name if isinstance(o, Tensor) else o for o in operands], "out": out.name}
        if attrs:
            content["attrs"] = attrs
        read = {letter for o in operands if isinstance(o, Tensor) for letter in o.letters}
        everything = read | set(letters) | set(over or "")
        self.steps.append(Operator(content, operands, out, everything, reduced, how))
        self.tensors.append(out)
        return out

    # The model.

    def step(self):
        r = self.random
        kind = r.choice(["relu", "abs", "clamp", "square", "neg", "scaled", "binary", "binary", "binary", "reduction",
                         "reduction", "where", "linear", "embedding", "declared", "declared", "masked", "smooth"])
        x = self.pick()
        if kind in ("relu", "abs", "square", "neg"):
            self.add(kind, [x], x.letters)
        elif kind == "smooth":
            if r.random() < .5:
                self.add(r.choice(["exp", "tanh", "sigmoid", "silu"]), [x], x.letters)
        elif kind == "clamp":
            self.add("clamp", [x], x.letters, r.choice([{"min": 0}, {"max": 1}, {"min": -1, "max": 1}]))
        elif kind == "scaled":
            self.add(r.choice(["mul", "add", "maximum", "minimum"]), [x, r.choice([2, -1, 0, 1, 0.5])], x.letters)
        elif kind == "binary":
            self.binary(x)
        elif kind == "reduction" and len(x.letters) > 1:
            self.reduction(x)
        elif kind == "where":
            self.where(x)
        elif kind == "linear":
            self.linear(x)
        elif kind == "embedding" and self.named("id"):
            if "v" not in self.cuts:
                self.add("embedding", [self.named("id"), self.named("table")], "bf")
            else:
                self.parallel_embedding()
        elif kind == "declared":
            self.declare(x)
        elif kind == "masked" and self.named("mask") and x.letters == "bf":
            self.add("where", [self.named("mask"), x, r.choice([0, self.pick("bf")])], "bf")

    def binary(self, x):
        """With a tensor whose letters are the last ones of x, or x's."""
        fitting = [t for t in self.tensors if t.real and t.letters and x.letters.endswith(t.letters)]
        y = self.random.choice(fitting)
        operands = [x, y] if self.random.random() < .7 else [y, x]
        self.add(self.random.choice(["add", "sub", "mul", "maximum", "minimum", "maximum"]), operands, x.letters)

    def reduction(self, x):
        r = self.random
        k = r.randrange(len(x.letters))
        how = r.choice(["sum", "mean", "max", "min", "max"])
        letter = x.letters[k]
        self.add(how, [x], x.letters[:k] + x.letters[k + 1:], {"dim": k}, letter, how)

    def where(self, x):
        r = self.random
        other = r.choice([0, 1, self.pick(x.letters) or 0])
        test = Tensor(self.fresh(), x.letters, False)
        content = {"op": r.choice(["lt", "le", "gt", "ge", "eq"]), "out": test.name,
                   "in": [x.name, other.name if isinstance(other, Tensor) else other]}
        self.steps.append(Operator(content, [x, other], test, set(x.letters)))
        self.tensors.append(test)
        y = self.pick(x.letters) or x
        operands = [test, x, y] if r.random() < .5 else [test, y, r.choice([0, x])]
        self.add("where", operands, x.letters)

    def linear(self, x):
        """A contraction of the last letter with a matrix."""
        matrices = [t for t in self.tensors if t.real and len(t.letters) == 2 and t.name in self.leaves["parameters"]
                    and x.letters and t.letters[1] == x.letters[-1] and t.letters[0] not in x.letters]
        if matrices:
            w = self.random.choice(matrices)
            self.add("linear", [x, w], x.letters[:-1] + w.letters[0], None, x.letters[-1], "sum", x.letters[-1])

    def parallel_embedding(self):
        """The table is cut: every rank looks up its rows."""
        out = self.add("embedding", [self.named("id"), self.named("table")], "bf", None, "v", "sum", "v")
        size = self.extents["v"] // self.parts("v")
        axis = self.cuts["v"][0]
        self.steps[-1].local = {"start": f"={axis} * {size}", "stop": f"={axis} * {size} + {size}"}
        return out

    def declare(self, x):
        """An operator of its own along rows, with kinks and a tie rule; the plan may declare it in another form."""
        r = self.random
        rank = len(x.letters)
        whole = [k for k, letter in enumerate(x.letters) if letter not in self.cuts]
        dims = [f"i{k}" for k in range(rank)]
        place = f"x[{', '.join(dims)}]"
        out, letters, along = dims, x.letters, place
        if whole and r.random() < .6:
            k = r.choice(whole)
            forms = r.choice(ROWS)
            along = f"x[{', '.join(dims[:k] + ['j'] + dims[k + 1:])}]"
            if not any("{y}" in form for form in forms) and rank > 1:
                out, letters = dims[:k] + dims[k + 1:], x.letters[:k] + x.letters[k + 1:]
        else:
            forms = r.choice(SINGLE)
        ties = r.choice(["even", "even", "first", "all", "zero"])
        first, second = r.choice(forms), r.choice(forms)
        more = r.choice(["", "", f" + 2 * {place}"]) if out == dims else ""
        head = f"(x[{', '.join(dims)}])"
        name = self.declared_operator(head, ties, out, first.format(x=along, y=place) + more)
        self.add(name, [x], letters)
        if r.random() < .4:
            other = ties if r.random() < .7 else r.choice(["even", "first", "all", "zero"])
            self.steps[-1].other_form = self.declared_operator(head, other, out, second.format(x=along, y=place) + more)

    def declared_operator(self, head, ties, out, body):
        name = self.fresh("f")
        self.declared += [f"op {name}{head}", f"  ties {ties}", f"  -> y[{', '.join(out)}] = {body}"]
        return name

    def close(self):
        """The loss: what has letters left is summed up, perhaps after a weight."""
        r = self.random
        x = [t for t in self.tensors if t.real][-1]
        if r.random() < .5:
            x = self.add("mul", [x, x], x.letters)
        elif r.random() < .5:
            names = set(self.leaves["inputs"]) | set(self.leaves["parameters"])
            fitting = [t for t in self.tensors if t.real and t.name in names and t.letters
                       and x.letters.endswith(t.letters)]
            if fitting:
                x = self.add("mul", [x, r.choice(fitting)], x.letters)
        while len(x.letters) > 1:
            x = self.add("sum", [x], x.letters[:-1], {"dim": -1}, x.letters[-1], "sum")
        loss = self.add("sum", [x], "", None, x.letters or None, "sum" if x.letters else None)
        return loss

    # The plan.

    def run_forward(self):
        self.needs_recipe = {}
        for step in self.steps:
            content = copy.deepcopy(step.content)
            if hasattr(step, "local"):
                content["attrs"] = step.local
            content["op"] = getattr(step, "other_form", content["op"])
            if content["op"] in DISGUISES and self.random.random() < .35:
                self.disguise(content)
            axes = self.axes(step.reduced or "")
            if not axes:
                self.forward.append(content)
                self.claim(step.output.name, step.output)
                continue
            part = step.output.name + ".part"
            content["out"] = part
            self.forward.append(content)
            if step.how == "sum":
                self.lineage[part] = {"of": step.output.name, **self.relation(step.output.letters),
                                      "partial": axes[0] if len(axes) == 1 else axes}
            self.reduce(part, axes, {"mean": "avg"}.get(step.how, step.how), step.output.name, self.forward)
            self.claim(step.output.name, step.output)

    def disguise(self, content):
        """An operator of its own in place of a built-in one, whose tie rule may be another."""
        r = self.random
        name = self.fresh("f")
        operands = "x, y" if len(content["in"]) == 2 else "x"
        ties = r.choice({"relu": ["zero"], "abs": ["zero", "even"]}.get(content["op"], ["even"]) * 3 + [
            "first", "even", "zero", "all"])
        self.declared += [f"op {name}({operands})", f"  ties {ties}",
                          f"  -> z = {r.choice(DISGUISES[content['op']])}"]
        content["op"] = name

    def claim(self, name, tensor):
        if tensor.real:
            self.lineage[name] = {**({} if name == tensor.name else {"of": tensor.name}),
                                  **self.relation(tensor.letters)}

    def reduce(self, name, axes, how, out, into):
        """All-reduces over several axes, in one or several operators."""
        r = self.random
        axes = list(axes)
        while axes:
            if axes[0] == "microbatch" or "microbatch" not in axes and r.random() < .6:
                own, axes = axes, []
            else:
                own, axes = [axes[0]], axes[1:]
            if "microbatch" in own and len(own) > 1:
                own, axes = ["microbatch"], [a for a in own if a != "microbatch"]
            target = out if not axes else self.fresh("s")
            if own == ["microbatch"] and how == "sum" and r.random() < .7:
                into.append({"op": "accumulate", "in": name, "out": target})
            else:
                into.append({"op": "all_reduce", "over": own[0] if len(own) == 1 else own, "reduce": how, "in": name,
                             "out": target})
            name = target

    def run_backward(self, loss, of):
        """Operators of the backward pass; returns {tensor: the plan's name of its gradient}."""
        needed = set(of)
        for step in self.steps:
            if any(isinstance(o, Tensor) and o.name in needed for o in step.operands) and step.output.real:
                needed.add(step.output.name)
        parts = {loss.name: ["grad." + loss.name]}
        result = {}
        for step in reversed(self.steps):
            name = step.output.name
            if name not in parts or not step.output.real:
                continue
            gradient = self.total(name, parts.pop(name), loss.name)
            targets = [o for o in dict.fromkeys(o for o in step.operands if isinstance(o, Tensor))
                       if o.real and o.name in needed]
            if targets:
                self.differentiate(step, gradient, targets, parts)
        for name in of:
            if name in parts:
                result[name] = self.total(name, parts[name], loss.name)
        return result

    def total(self, name, contributions, loss):
        """The sum of the contributions to a gradient."""
        contributions = list(contributions)
        self.random.shuffle(contributions)
        while len(contributions) > 1:
            a, b = contributions.pop(), contributions.pop()
            out = self.fresh("s")
            self.backward.append({"op": "add", "in": [a, b], "out": out})
            contributions.insert(self.random.randrange(len(contributions) + 1), out)
        tensor = next(t for t in self.tensors if t.name == name)
        if name != loss:
            self.lineage[contributions[0]] = {"of": f"grad.{name}", **self.relation(tensor.letters)}
        return contributions[0]

    def differentiate(self, step, gradient, targets, parts):
        r = self.random
        axes = self.axes(step.reduced or "")
        outs = {}
        for target in targets:
            outs[target.name] = self.fresh("g")
        if axes and step.how in ("max", "min"):
            self.extreme(step, gradient, outs, axes)
        else:
            local = step.output.name + ".part" if axes else step.output.name
            if axes and step.how == "mean":
                scaled = self.fresh("s")
                self.backward.append({"op": "div", "in": [gradient, self.parts(step.reduced)], "out": scaled})
                gradient = scaled
            operator = {"backward": local, "grad": {local: gradient}, "out": dict(outs)}
            if r.random() < .1:
                operator["in"] = self.recomputed(step)
            self.backward.append(operator)
        for target in targets:
            missing = [a for a in self.axes(sorted(step.letters - set(target.letters)))]
            own = outs[target.name]
            if missing:
                summed = self.fresh("g")
                self.reduce(own, missing, "sum", summed, self.backward)
                own = summed
            parts.setdefault(target.name, []).append(own)

    def recomputed(self, step):
        """The operands, of which some are computed anew."""
        names = []
        for own in step.content["in"]:
            earlier = next((s for s in self.forward if s.get("out") == own and "over" not in s
                            and s["op"] != "accumulate"), None)
            if isinstance(own, str) and earlier and self.random.random() < .7:
                again = {**earlier, "out": self.fresh("r")}
                self.backward.append(again)
                names.append(again["out"])
            elif isinstance(own, str):
                names.append(own)
        return names

    def extreme(self, step, gradient, outs, axes):
        """Through a maximum over all ranks: equal elements, counted everywhere, share the gradient."""
        (x,) = [o for o in step.operands if isinstance(o, Tensor)]
        dim = x.letters.index(step.reduced)
        wide = self.fresh("s")
        equal, number, counted, total = (self.fresh("s") for _ in range(4))
        kept = step.output.name
        if len(x.letters) > 1:
            self.backward.append({"op": "unsqueeze", "in": kept, "out": wide, "attrs": {"dim": dim}})
        else:
            wide = kept
        self.backward.append({"op": "eq", "in": [x.name, wide], "out": equal})
        self.backward.append({"op": "float", "in": equal, "out": number})
        self.backward.append({"op": "sum", "in": number, "out": counted, "attrs": {"dim": dim, "keepdim": True}})
        self.reduce(counted, axes, "sum", total, self.backward)
        spread, share = self.fresh("s"), self.fresh("s")
        if len(x.letters) > 1:
            self.backward.append({"op": "unsqueeze", "in": gradient, "out": spread, "attrs": {"dim": dim}})
        else:
            spread = gradient
        self.backward.append({"op": "div", "in": [spread, total], "out": share})
        self.backward.append({"op": "mul", "in": [number, share], "out": outs[x.name]})

    def updated(self, grads, program):
        """A step of every parameter that has a gradient; returns the names of the new values."""
        updates, self.after = {}, []
        for name, own in grads.items():
            if name in self.leaves["parameters"]:
                rate = self.random.choice([0.5, 0.1, 2])
                for operators, gradient in ((self.after, f"grad.{name}"), (program["operators"], own)):
                    operators.append({"op": "mul", "in": [gradient, rate], "out": f"{name}.step"})
                    operators.append({"op": "sub", "in": [name, f"{name}.step"], "out": f"{name}.new"})
                program["outputs"][f"{name}.new"] = f"{name}.new"
                updates[name] = f"{name}.new"
        return updates

    def content(self, loss, of, grads):
        r = self.random
        inputs = {}
        for role in self.leaves.values():
            for name in role:
                inputs[name] = self.relation(self.named(name).letters)
        inputs[f"grad.{loss.name}"] = {}
        outputs = {loss.name: {}}
        for name in grads:
            outputs[f"grad.{name}"] = self.relation(self.named(name).letters)
        program = {"inputs": inputs, "operators": self.forward + self.backward,
                   "outputs": {f"grad.{name}": own for name, own in grads.items()}}
        defined = {o.get("out") for o in program["operators"] if isinstance(o.get("out"), str)} | {
            n for o in program["operators"] if isinstance(o.get("out"), dict) for n in o["out"].values()}
        lineage = {n: claim for n, claim in self.lineage.items() if n in defined and r.random() < .6}
        if lineage and r.random() < .5:
            program["lineage"] = lineage
        updates = self.updated(grads, program) if r.random() < .2 else {}
        specification = {**{role: own for role, own in self.leaves.items() if own},
                         "operators": [s.content for s in self.steps], "outputs": outputs,
                         "gradients": {"loss": loss.name, "of": list(grads)}}
        if updates:
            specification["updates"] = updates
            specification["operators"] = specification["operators"] + self.after
        if self.premises:
            specification["premises"] = self.premises
        if not grads:
            del specification["gradients"]
            del program["inputs"][f"grad.{loss.name}"]
        content = {"planproof": 1, "operators": self.declared, "specification": specification,
                   "plan": {"mesh": self.mesh, "programs": [program]}}
        if self.microbatches > 1:
            content["plan"]["microbatches"] = self.microbatches
        return content
