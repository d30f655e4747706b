"""A plan and, beside it, a model that computes every rank's every tensor by itself, without any communication.

Whatever collectives, moves and exceptions a plan has, its model is then right by construction: a tensor of the plan
has one logical tensor for each combination of coordinates over which it varies.
"""
import itertools

from expressions import evaluate, names_in


class Tensor:
    """A tensor of a program: its shape, the axes over which it varies, and the logical tensor of each of its places."""

    def __init__(self, name, shape, axes, logical):
        self.name = name
        self.shape = tuple(shape)
        self.axes = tuple(axes)  # in the order of the mesh, the microbatch last
        self.logical = logical  # {coordinates of the axes: name}


class Program:
    def __init__(self, plan, name, fixed):
        self.plan = plan
        self.name = name
        self.fixed = fixed
        self.tensors = {}
        self.inputs = {}
        self.operators = []
        self.exceptions = []
        self.lineage = {}
        self.outputs = {}

    def free(self):
        """Axes over which tensors may vary."""
        return [a for a in self.plan.mesh if a not in self.fixed] + (
            ["microbatch"] if self.plan.microbatches > 1 else [])

    def content(self, only):
        result = {"name": self.name, "inputs": self.inputs, "operators": self.operators}
        if not only:
            result["devices"] = self.fixed
        for key, value in (("exceptions", self.exceptions), ("lineage", self.lineage), ("outputs", self.outputs)):
            if value:
                result[key] = value
        return result


class Plan:
    def __init__(self, mesh, microbatches):
        self.mesh = mesh
        self.microbatches = microbatches
        self.programs = []
        self.leaves = {}
        self.constants = None  # "ones" or "zeros": the role of a leaf o of the shape of w
        self.model = []
        self.required = {}
        self.count = 0

    def extent(self, axis):
        return self.microbatches if axis == "microbatch" else self.mesh[axis]

    def fresh(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    def add(self, op, operands, **attributes):
        """An operator of the model; returns its output."""
        out = self.fresh("l")
        self.model.append({"op": op, "in": operands, "out": out, **({"attrs": attributes} if attributes else {})})
        return out

    def places(self, axes):
        return itertools.product(*(range(self.extent(a)) for a in axes))

    def ordered(self, axes):
        return [a for a in [*self.mesh, "microbatch"] if a in axes]

    def at(self, tensor, place):
        """The logical tensor of a tensor at {axis: coordinate}."""
        return tensor.logical[tuple(place[a] for a in tensor.axes)]

    def input(self, program, name, logical, shape, cuts):
        """An input of a program: the logical leaf cut as `cuts`, {dimension: axes}."""
        axes = self.ordered({a for own in cuts.values() for a in own} - set(program.fixed))
        local = [e for e in shape]
        for k, own in cuts.items():
            for axis in own:
                local[k] //= self.extent(axis)
        found = {}
        for place in self.places(axes):
            coordinates = {**program.fixed, **dict(zip(axes, place))}
            own = logical
            for k, cut in cuts.items():
                rank = 0
                for axis in cut:
                    rank = rank * self.extent(axis) + coordinates[axis]
                own = self.add("narrow", own, dim=k, start=rank * local[k], length=local[k])
            found[place] = own
        relation = {str(k): own[0] if len(own) == 1 else list(own) for k, own in cuts.items()}
        if name != logical:
            relation["of"] = logical
        program.inputs[name] = relation
        program.tensors[name] = Tensor(name, local, axes, found)

    def local(self, program, op, operands, attributes=None, out=None, shape=None, listed=True):
        """A local operator; operands are names or numbers, attributes may be `=` expressions."""
        attributes = attributes or {}
        tensors = [program.tensors[n] for n in operands if isinstance(n, str)]
        named = {a for v in _values(attributes) if isinstance(v, str) for a in names_in(v[1:])}
        axes = self.ordered({a for t in tensors for a in t.axes} | (named - set(program.fixed)))
        found = {}
        for place in self.places(axes):
            coordinates = {**program.fixed, **dict(zip(axes, place))}
            found[place] = self.add(op, [self.at(program.tensors[n], coordinates) if isinstance(n, str) else n
                                         for n in operands], **_fixed(attributes, coordinates))
        out = out or self.fresh()
        operator = {"op": op, "in": operands if len(operands) > 1 else operands[0], "out": out}
        if attributes:
            operator["attrs"] = attributes
        if listed:
            program.operators.append(operator)
            program.tensors[out] = Tensor(out, shape, axes, found)
        return operator, Tensor(out, shape, axes, found)

    def over_everything(self, tensor, axes):
        """A tensor written out over further axes."""
        axes = self.ordered(set(axes) | set(tensor.axes))
        return Tensor(tensor.name, tensor.shape, axes, {
            place: self.at(tensor, dict(zip(axes, place))) for place in self.places(axes)})

    def stacked(self, tensor):
        """The logical tensor that has all places of a tensor along dimension 0, and its relation."""
        if not tensor.axes:
            return tensor.logical[()], {}
        parts = [tensor.logical[place] for place in self.places(tensor.axes)]
        axes = list(tensor.axes)
        return self.add("concat", parts, dim=0), {"0": axes[0] if len(axes) == 1 else axes}

    def content(self):
        constants = {self.constants: {"o": self.leaves["w"]}} if self.constants else {}
        return {"planproof": 1,
                "specification": {"inputs": self.leaves, **constants, "operators": self.model,
                                  "outputs": self.required},
                "plan": {"mesh": self.mesh, **({"microbatches": self.microbatches} if self.microbatches > 1 else {}),
                         "programs": [p.content(len(self.programs) == 1) for p in self.programs]}}


def _values(attributes):
    return [v for own in attributes.values() for v in (own if isinstance(own, list) else [own])
            if isinstance(v, str) and v.startswith("=")]


def _fixed(attributes, coordinates):
    def one(value):
        if isinstance(value, list):
            return [one(v) for v in value]
        return evaluate(value[1:], coordinates) if isinstance(value, str) and value.startswith("=") else value
    return {name: one(value) for name, value in attributes.items()}


class Communication:
    """Collectives of a plan, and what they are in the model."""

    def __init__(self, plan, random):
        self.plan = plan
        self.random = random

    def total(self, names, kind):
        """The model's reduction of several tensors, in any order."""
        names = list(names)
        if kind in ("sum", "avg"):
            self.random.shuffle(names)
        result = names[0]
        for name in names[1:]:
            result = self.plan.add({"sum": "add", "avg": "add", "max": "maximum", "min": "minimum"}[kind],
                                   [result, name])
        if kind == "avg":
            result = self.plan.add("div", [result, len(names)])
        return result

    def piece(self, name, shape, dim, rank, count):
        size = shape[dim] // count
        return self.plan.add("narrow", name, dim=dim, start=rank * size, length=size)

    def results(self, content, names, shape):
        """The logical tensors of all ranks of a group, given those of their operands; and the local shape. None: nobody
        may use it."""
        op, count, plan = content["op"], len(names), self.plan
        shape = list(shape)
        if op in ("all_reduce", "accumulate"):
            return [self.total(names, content.get("reduce", "sum"))] * count, shape
        if op == "all_gather":
            out = shape[:]
            out[content["dim"]] *= count
            return [plan.add("concat", names, dim=content["dim"])] * count, out
        if op == "reduce_scatter":
            whole = self.total(names, content.get("reduce", "sum"))
            out = shape[:]
            out[content["dim"]] //= count
            return [self.piece(whole, shape, content["dim"], r, count) for r in range(count)], out
        if op == "all_to_all":
            split, joined = content["split_dim"], content["concat_dim"]
            out = shape[:]
            out[split] //= count
            out[joined] *= count
            return [plan.add("concat", [self.piece(n, shape, split, r, count) for n in names], dim=joined)
                    for r in range(count)], out
        if op == "broadcast":
            return [names[content["root"]]] * count, shape
        if op == "reduce":
            whole = self.total(names, "sum")
            return [whole if r == content["root"] else None for r in range(count)], shape
        if op == "chunk":
            out = shape[:]
            out[content["dim"]] //= count
            return [self.piece(n, shape, content["dim"], r, count) for r, n in enumerate(names)], out
        sends = content.get("pairs") or [[r, (r + content["shift"]) % count] for r in range(count)]
        return [next((names[a] for a, b in sends if b == r), None) or plan.add("mul", [names[r], 0])
                for r in range(count)], shape

    def within(self, program, content, out=None, listed=True):
        """Appends a collective over axes of the program."""
        plan = self.plan
        axes = ["microbatch"] if content["op"] == "accumulate" else content["over"]
        axes = [axes] if isinstance(axes, str) else axes
        tensor = plan.over_everything(program.tensors[content["in"]], axes)
        keeps = content["op"] not in ("all_reduce", "accumulate", "all_gather", "broadcast")
        others = [a for a in tensor.axes if a not in axes]
        found, shape = {}, tensor.shape
        for place in plan.places(others):
            coordinates = dict(zip(others, place))
            ranks = list(plan.places(axes))
            names = [plan.at(tensor, {**coordinates, **dict(zip(axes, rank))}) for rank in ranks]
            results, shape = self.results(content, names, tensor.shape)
            for rank, result in zip(ranks, results):
                own = {**coordinates, **dict(zip(axes, rank))}
                found[tuple(own[a] for a in (tensor.axes if keeps else others))] = result
        out = out or plan.fresh()
        own = Tensor(out, shape, tensor.axes if keeps else others, found)
        if listed:
            program.operators.append({**content, "out": out})
            program.tensors[out] = own
        return own

    def between(self, content, members):
        """Appends a collective between programs: pairs of a program and its tensor."""
        plan = self.plan
        listed = [f"{p.name}:{t}" for p, t in members]
        axes = plan.ordered({a for p, t in members for a in p.tensors[t].axes})
        tensors = [plan.over_everything(p.tensors[t], axes) for p, t in members]
        found = [{} for _ in members]
        shapes = [None] * len(members)
        for place in plan.places(axes):
            names = [t.logical[place] for t in tensors]
            results, shape = self.results(content, names, tensors[0].shape)
            if content["op"] == "all_gather":
                shape = list(tensors[0].shape)
                shape[content["dim"]] = sum(t.shape[content["dim"]] for t in tensors)
            for rank, result in enumerate(results):
                found[rank][place] = result
                shapes[rank] = shape
        for (program, _), own, shape in zip(members, found, shapes):
            out = plan.fresh()
            program.operators.append({**content, "in": listed, "out": out})
            program.tensors[out] = Tensor(out, shape, axes, own)

    def move(self, program, sender, sent, channel=None):
        """Appends the receipt of another program's tensor."""
        plan, tensor = self.plan, sender.tensors[sent]
        axes = [a for a in tensor.axes if a not in program.fixed]
        found = {place: plan.at(tensor, {**program.fixed, **dict(zip(axes, place))}) for place in plan.places(axes)}
        out = plan.fresh()
        program.operators.append({"op": "move", "in": f"{sender.name}:{sent}", "out": out,
                                  **({"channel": channel} if channel else {})})
        program.tensors[out] = Tensor(out, tensor.shape, axes, found)
        return out
