"""Gradients of declared operators with random index functions: every rank differentiates the part that it computes."""
import copy

import generate_index_functions
from random_bodies import random_operator


def plan(random):
    return Maker(random).make()


class Maker(generate_index_functions.Maker):
    """The model's loss is the sum of f times a weight g; ranks hold parts of f and of g, and add up the gradients."""

    def make(self):
        r = self.random
        operands = self.operands()
        for operand in operands:
            if operand.integer and operand.name not in self.premises:
                self.premises[operand.name] = [0, 4]
        self.wide = r.choice([5, 6, 7, 8]) if r.random() < .3 else None  # an axis of as many ranks
        operator = random_operator(r, "f", operands, 1, r.choice([1, 2, 2, 3]) if not self.wide else 1, self.wide)
        self.lines += operator.write()
        names = [self.prepared(o) for o in operands]
        before = copy.deepcopy(self.model)
        self.leaves["g"] = operator.outputs[0].shape
        self.model += [{"op": "f", "in": names, "out": "y"}, {"op": "mul", "in": ["y", "g"], "out": "z"},
                       {"op": "sum", "in": "z", "out": "loss"}]
        own = self.changed(operator, "f_part")
        inputs = {n: {} for n in self.leaves}
        attributes, axes = self.cut_output(operator, own, inputs)
        self.lines += own.write()
        of = [n for n, given in zip([o.name for o in operands], names) if not n.startswith("id")]
        of = r.sample(of, r.randint(1, len(of)))
        operators = before + [{"op": "f_part", "in": names, "out": "y", "attrs": attributes},
                              {"op": "mul", "in": ["y", "g"], "out": "z"}]
        gradient = "g"
        if r.random() < .5:
            operators += self.loss(axes)
            inputs["grad.loss"] = {}
            gradient = "grad.y"
        claims = self.backward(operators, before, names, of, axes, gradient)
        self.outputs.update({f"grad.{n}": {} for n in of})
        parameters = {n: self.leaves.pop(n) for n in of if r.random() < .5}
        program = {"inputs": inputs, "operators": operators, "outputs": claims}
        if self.lineage and r.random() < .5:
            program["lineage"] = self.lineage
        specification = {"inputs": self.leaves, "parameters": parameters, "operators": self.model,
                         "premises": self.premises,
                         "gradients": {"loss": "loss", "of": of}, "outputs": self.outputs}
        return {"planproof": 1, "operators": self.lines, "specification": specification,
                "plan": {"mesh": self.mesh or {"a": 1}, "programs": [program]}}

    def cut_output(self, operator, own, inputs):
        """Cuts outermost digits of the output over axes, and g alike."""
        r = self.random
        attributes, axes = {}, []
        dims = own.outputs[0].dims
        places = [(d, dim[0][1]) for d, dim in enumerate(dims) if dim[0][1] > 1]
        chosen = r.sample(places, min(len(places), r.choice([0, 1, 1, 1, 2])))
        if self.wide:
            chosen = [(0, self.wide)]
        for axis, (d, extent) in zip("ab", chosen):
            parts = extent if self.wide else r.choice([p for p in (2, 3, 4, 5, 6) if extent % p == 0] or [extent])
            self.mesh[axis] = parts
            self.cut(own, 0, d, 0, axis, parts)
            attributes[f"start_{axis}"] = f"={axis} * {extent // parts}"
            inputs["g"][str(d)] = axis
            axes.append(axis)
        self.lineage["y"] = dict(inputs["g"])
        self.lineage["z"] = dict(inputs["g"])
        return attributes, axes

    def loss(self, axes):
        """The loss itself, and the gradient of y by way of it."""
        self.outputs["loss"] = {}
        operators = [{"op": "sum", "in": "z", "out": "loss.part" if axes else "loss"}]
        name = operators[0]["out"]
        if axes:
            operators.append({"op": "all_reduce", "over": axes if len(axes) > 1 else axes[0], "in": name,
                              "out": "loss"})
        return operators + [{"backward": name, "grad": {name: "grad.loss"}, "out": {"z": "grad.z"}},
                            {"backward": "z", "out": {"y": "grad.y"}}]

    def backward(self, operators, before, names, of, axes, gradient):
        """Through f and what comes before it; returns which tensor is which gradient."""
        wanted = {self.source(before, n): n for n in names if self.source(before, n) in of}
        outs = {n: f"part.{n}" for n in dict.fromkeys(wanted.values())}
        operators.append({"backward": "y", "grad": {"y": gradient}, "out": dict(outs)})
        claims = {}
        for source, given in wanted.items():
            own = outs[given]
            early = bool(axes) and self.random.random() < .5
            if early:
                operators.append({"op": "all_reduce", "over": axes if len(axes) > 1 else axes[0], "in": own,
                                  "out": f"sum.{own}"})
                own = f"sum.{own}"
            own = self.through(operators, before, source, given, own)
            if axes and not early:
                operators.append({"op": "all_reduce", "over": axes if len(axes) > 1 else axes[0], "in": own,
                                  "out": f"sum.{own}"})
                own = f"sum.{own}"
            claims[f"grad.{source}"] = own
        return claims

    def source(self, before, name):
        """The input that a tensor is made of."""
        while True:
            producer = next((o for o in before if o["out"] == name), None)
            if producer is None:
                return name
            name = producer["in"] if isinstance(producer["in"], str) else producer["in"][0]

    def through(self, operators, before, source, given, gradient):
        """The backward pass of the operators between an input and what f reads."""
        gradients = {given: [gradient]}
        for operator in reversed(before):
            found = gradients.pop(operator["out"], None)
            if found is None:
                continue
            total = self.total(operators, found)
            for name in dict.fromkeys(operator["in"] if isinstance(operator["in"], list) else [operator["in"]]):
                out = f"g{len(operators)}.{name}"
                operators.append({"backward": operator["out"], "grad": {operator["out"]: total}, "out": {name: out}})
                gradients.setdefault(name, []).append(out)
        return self.total(operators, gradients[source])

    def total(self, operators, found):
        while len(found) > 1:
            out = f"s{len(operators)}"
            operators.append({"op": "add", "in": found[:2], "out": out})
            found = found[2:] + [out]
        return found[0]
