"""Random models, and plans that compute them otherwise, reading constant indices, slices and single elements."""
import itertools
import random

from constant_index_model import Graph, Model, changed, without


class Plan:
    """The model computed otherwise. Choices come from one generator; the one mistake, at site number `mistake` among
    those where one is possible, from another, so that plans with and without it are otherwise the same."""

    def __init__(self, model, seed, mistake=None):
        self.rng = random.Random(f"plan {seed}")
        self.wrong = random.Random(f"mistake {seed} {mistake}")
        self.model, self.mistake, self.sites = model, mistake, 0
        self.ranks = self.rng.choice([1, 2, 2, 3])
        self.graph = Graph("p")
        self.inputs, self.lineage, self.exceptions = {}, {}, []
        self.with_lineage = self.rng.random() < .6
        self.full = {}  # of model tensors: the plan's tensor
        for name, shape in model.inputs.items():
            self.full[name] = self.read_input(name, shape)
        for kind, inputs, out, attrs in model.steps:
            made = self.make(kind, inputs, out, attrs)
            for _ in range(self.rng.choice([0, 0, 1])):
                self.claim(made, {"of": out})
                made = self.disguise(made, out)
            self.full[out] = made
            self.claim(made, {"of": out})

    def site(self, right, wrongs):
        """A value, or a wrong one in its place."""
        wrongs = [w for w in wrongs if w != right]
        if not wrongs:
            return right
        self.sites += 1
        return self.wrong.choice(wrongs) if self.sites - 1 == self.mistake else right

    def claim(self, tensor, relation):
        if self.with_lineage and tensor not in self.inputs and self.rng.random() < .7:
            self.lineage.setdefault(tensor, relation)

    # Pieces and elements; their constants are where mistakes happen.

    def shape(self, t):
        return self.graph.shapes[t]

    def piece(self, t, d, start, stop):
        """Of a dimension, from start to stop."""
        shape = self.shape(t)
        length = stop - start
        at = self.site(start, [k for k in (start - 1, start + 1, 0, shape[d] - length) if 0 <= k <= shape[d] - length])
        cut_shape = changed(shape, d, length)
        how = self.rng.random()
        if length == 1 and how < .4:
            one = self.graph.add("select", [t], without(shape, [d]), dim=d, index=at)
            return self.graph.add("unsqueeze", [one], cut_shape, dim=d)
        if how < .6:
            return self.graph.add("narrow", [t], cut_shape, dim=d, start=at, length=length)
        return self.graph.add("slice", [t], cut_shape, dim=d, start=at, stop=at + length)

    def joined(self, parts, d):
        shape = changed(self.shape(parts[0]), d, sum(self.shape(p)[d] for p in parts))
        orders = [list(order) for order in itertools.permutations(parts)] if len(parts) <= 4 else []
        order = self.site(list(parts), [o for o in orders if o != list(parts)])
        return self.graph.add("concat", order, shape, dim=d)

    def scaled(self, t, factor):
        return self.graph.add("mul", [t, self.site(factor, [factor + 1, -factor])], self.shape(t))

    def add(self, a, b):
        return self.graph.add(self.site("add", ["sub"]), [a, b], self.shape(a))

    def places(self, n):
        """Where to cut a dimension of n."""
        if n > 2 and n < 6 and self.rng.random() < .3:
            return list(range(n + 1))
        cuts = self.rng.sample(range(1, n), min(n - 1, self.rng.choice([1, 1, 2])))
        return [0] + sorted(cuts) + [n]

    def pieces(self, t, d, places=None):
        places = places or self.places(self.shape(t)[d])
        return [(a, b, self.piece(t, d, a, b)) for a, b in zip(places, places[1:])]

    def divided_dim(self, shape):
        dims = [d for d, n in enumerate(shape) if n > 1]
        return self.rng.choice(dims) if dims else None

    def sharded_dim(self, shape):
        dims = [d for d, n in enumerate(shape) if self.ranks > 1 and n % self.ranks == 0]
        return self.rng.choice(dims) if dims else None

    # Inputs

    def read_input(self, name, shape):
        how = self.rng.random()
        d = self.divided_dim(shape)
        s = self.sharded_dim(shape)
        self.graph.shapes[name] = shape
        if how < .15 and d is not None:  # in parts
            k = self.rng.randrange(1, shape[d])
            for part, (a, b) in {f"{name}.a": (0, k), f"{name}.b": (k, shape[d])}.items():
                self.inputs[part] = {"of": name, str(d): [a, b]}
                self.graph.shapes[part] = changed(shape, d, b - a)
            return self.joined([f"{name}.a", f"{name}.b"], d)
        if how < .3 and d is not None:  # backwards
            back = f"{name}.back"
            self.inputs[back] = {"of": name, "shape": list(shape), "map": [
                f"{n - 1} - i{k}" if k == d else f"i{k}" for k, n in enumerate(shape)]}
            self.graph.shapes[back] = shape
            return self.graph.add("flip", [back], shape, dims=[d])
        if how < .45 and s is not None:
            shard = f"{name}.shard"
            part = shape[s] // self.ranks
            self.graph.shapes[shard] = changed(shape, s, part)
            if self.rng.random() < .5:
                self.inputs[shard] = {"of": name, str(s): "tp"}
            else:
                self.inputs[shard] = {"of": name, "shape": list(changed(shape, s, part)), "map": [
                    f"tp * {part} + i{k}" if k == s else f"i{k}" for k in range(len(shape))]}
            return self.gather(shard, s, shape)
        self.inputs[name] = {}
        if how < .6 and d is not None:  # one index also by itself
            at = self.rng.randrange(shape[d])
            one, flat = f"{name}.one", changed(shape, d, 1)
            index = self.site(at, range(shape[d]))
            self.inputs[one] = {"of": name, "overlap": True, "shape": list(flat), "map": [
                str(index) if k == d else f"i{k}" for k in range(len(shape))]}
            self.inputs[name] = {"overlap": True}
            self.graph.shapes[one] = flat
            parts = [one]
            if at > 0:
                parts.insert(0, self.piece(name, d, 0, at))
            if at + 1 < shape[d]:
                parts.append(self.piece(name, d, at + 1, shape[d]))
            return self.joined(parts, d)
        return name

    # Ranks

    def gather(self, shard, d, shape):
        return self.graph.add("all_gather", shard, shape, over="tp", keys={"dim": d})

    def shard(self, t, d):
        shape = self.shape(t)
        part = shape[d] // self.ranks
        flat = changed(shape, d, part)
        if self.rng.random() < .4:
            return self.graph.add("chunk", t, flat, over="tp", keys={"dim": d})
        starts = [f"=tp * {part}", f"={(self.ranks - 1) * part} - tp * {part}", f"=(tp + 1) % {self.ranks} * {part}"]
        return self.graph.add("narrow", [t], flat, dim=d, start=self.site(starts[0], starts[1:]), length=part)

    def all_reduce(self, t):
        how = self.site("sum", ["avg"])
        shape = self.shape(t)
        d = self.sharded_dim(shape)
        if d is not None and self.rng.random() < .4:
            part = self.graph.add("reduce_scatter", t, changed(shape, d, shape[d] // self.ranks), over="tp",
                                  keys={"dim": d, "reduce": how})
            return self.gather(part, d, shape)
        return self.graph.add("all_reduce", t, self.shape(t), over="tp", keys={"reduce": how})

    def own_way(self, t):
        """One rank computes the same tensor otherwise; the others pass it on."""
        shape = self.shape(t)
        other = self.instead(t)
        out = self.graph.add("mul", [t, 2], shape)
        at = self.rng.randrange(self.ranks)
        if self.rng.random() < .5:
            steps = [{"op": "add", "in": [t, other], "out": out}]
        else:
            steps = [{"op": "mul", "in": [t, 3], "out": out + ".a"},
                     {"op": "sub", "in": [out + ".a", t], "out": out}]
            if shape and shape[0] > 1 and self.site(0, [1]):
                steps[1]["out"] = out + ".b"
                steps.append({"op": "flip", "in": [out + ".b"], "out": out, "attrs": {"dims": [0]}})
        self.exceptions.append({"at": {"tp": at}, "replace": out, "with": steps})
        return self.graph.add("mul", [out, .5], shape)

    def from_one_rank(self, t):
        """One rank computes something else; all get the tensor of another one."""
        out = self.graph.add("identity", [t], self.shape(t))
        at = self.rng.randrange(self.ranks)
        self.exceptions.append({"at": {"tp": at}, "replace": out, "with": [{"op": "neg", "in": [t], "out": out}]})
        root = self.site((at + 1) % self.ranks, [at])
        return self.graph.add("broadcast", out, self.shape(t), over="tp", keys={"root": root})

    def instead(self, t):
        """The tensor; or a wrong one in its place: another one, or one of its elements, rows, ... for all."""
        others = [o for o in self.graph.shapes if o != t and self.shape(o) == self.shape(t) and self.is_there(o)]
        shape = self.shape(t)
        d = self.wrong.choice([k for k, n in enumerate(shape) if n > 1] or [None])
        chosen = self.site(t, (others and [self.wrong.choice(others)]) + ["one"] * (d is not None))
        if chosen != "one":
            return chosen
        at = self.wrong.choice([0, 0, 1, shape[d] - 1, self.wrong.randrange(shape[d])])
        one = self.graph.add("slice", [t], changed(shape, d, 1), dim=d, start=at, stop=at + 1)
        return self.graph.add("expand", [one], shape, size=list(shape))

    def is_there(self, t):
        return t in self.inputs or any(op["out"] == t for op in self.graph.operators)

    # The same tensor once more

    def disguise(self, t, model_tensor):
        shape = self.shape(t)
        d = self.divided_dim(shape)
        s = self.sharded_dim(shape)
        ways = ["operand"]
        if d is not None:
            ways += ["pieces", "elements", "flips", "margins"]
        if s is not None:
            ways += ["shards", "shards"]
        if self.ranks > 1:
            ways += ["own way", "one rank's"]
        if len(shape) > 1:
            ways += ["permutes"]
        way = self.rng.choice(ways)
        if way == "operand":
            return self.graph.add("identity", [self.instead(t)], shape)
        if way == "pieces":
            parts = self.pieces(t, d)
            for a, b, part in parts:
                self.claim(part, {"of": model_tensor, str(d): [a, b]})
            return self.joined([part for _, _, part in parts], d)
        if way == "elements" and shape[d] <= 7:
            order = list(range(shape[d]))
            picked = []
            for k in order:
                at = self.site(k, order)
                picked.append(self.graph.add("select", [t], without(shape, [d]), dim=d, index=at))
                if len(shape) > 1:
                    self.claim(picked[-1], {"of": model_tensor, "map": [
                        str(k) if e == d else f"i{e - (e > d)}" for e in range(len(shape))]})
            return self.graph.add("stack", picked, shape, dim=d)
        if way == "margins":
            k = self.rng.randrange(1, shape[d])
            parts = []
            for a, b in [(0, k), (k, shape[d])]:
                margins = [0, 0] * len(shape)
                at = 2 * (len(shape) - 1 - d)
                margins[at], margins[at + 1] = self.site((a, shape[d] - b), [(shape[d] - b, a)])
                parts.append(self.graph.add("pad", [self.piece(t, d, a, b)], shape, pad=margins))
            return self.add(*parts)
        if way == "shards":
            shard = self.shard(t, s)
            self.claim(shard, {"of": model_tensor, str(s): "tp"})
            if self.rng.random() < .3:
                shift = self.rng.randrange(1, self.ranks)
                shard = self.graph.add("permute", shard, self.shape(shard), over="tp", keys={"shift": shift})
                shard = self.graph.add("permute", shard, self.shape(shard), over="tp", keys={
                    "shift": self.site(self.ranks - shift, range(self.ranks))})
            return self.gather(shard, s, shape)
        if way == "own way":
            return self.own_way(t)
        if way == "one rank's":
            return self.from_one_rank(t)
        if way == "permutes":
            dims = list(range(len(shape)))
            self.rng.shuffle(dims)
            back = [dims.index(k) for k in range(len(shape))]
            there = self.graph.add("permute", [t], [shape[k] for k in dims], dims=dims)
            same = [list(p) for p in itertools.permutations(range(len(shape)))
                    if tuple(self.shape(there)[k] for k in p) == shape]
            return self.graph.add("permute", [there], shape, dims=self.site(back, same))
        dims = self.site([d], [[k] for k in range(len(shape))])
        return self.graph.add("flip", [self.graph.add("flip", [t], shape, dims=[d])], shape, dims=dims)

    # One operator of the model

    def make(self, kind, inputs, out, attrs):
        operands_ = [self.full[t] if isinstance(t, str) else t for t in inputs]
        shape = self.model.graph.shapes[out]
        way = self.rng.random()
        method = getattr(self, "make_" + kind, None)
        if kind in ("mul", "add", "sub", "maximum", "neg", "square", "relu", "abs"):
            return self.make_elementwise(kind, operands_, shape, out)
        if method is None or way < .3:
            return self.graph.add(kind, operands_, shape, **self.mistaken(kind, attrs, operands_))
        return method(operands_, shape, attrs, out)

    def mistaken(self, kind, attrs, operands_):
        attrs = dict(attrs)
        x = self.shape(operands_[0])
        if kind == "slice":
            length = attrs["stop"] - attrs["start"]
            attrs["start"] = self.site(attrs["start"], range(x[attrs["dim"]] - length + 1))
            attrs["stop"] = attrs["start"] + length
        elif kind == "select":
            attrs["index"] = self.site(attrs["index"], range(x[attrs["dim"]]))
        elif kind == "flip":
            attrs["dims"] = self.site(attrs["dims"], [[k] for k in range(len(x))])
        elif kind == "permute":
            shape = [x[k] for k in attrs["dims"]]
            attrs["dims"] = self.site(attrs["dims"], [list(p) for p in itertools.permutations(range(len(x)))
                                                      if [x[k] for k in p] == shape])
        elif kind == "pad":
            attrs["pad"] = self.site(attrs["pad"], [[q for k in range(0, len(attrs["pad"]), 2)
                                                     for q in (attrs["pad"][k + 1], attrs["pad"][k])]])
        return attrs

    def make_elementwise(self, kind, operands_, shape, out):
        operands_ = [self.instead(t) if isinstance(t, str) else self.site(t, [t + 1, -t]) for t in operands_]
        d, s = self.divided_dim(shape), self.sharded_dim(shape)
        way = self.rng.random()

        def along(t, dim, part):
            """The operand's share of a dimension of the result."""
            if not isinstance(t, str):
                return t
            own = dim - (len(shape) - len(self.shape(t)))
            return t if own < 0 or self.shape(t)[own] == 1 else part(t, own)

        if way < .35 and d is not None:
            parts = []
            places = self.places(shape[d])
            for a, b in zip(places, places[1:]):
                own = [along(t, d, lambda u, k: self.piece(u, k, a, b)) for t in operands_]
                parts.append(self.graph.add(kind, own, changed(shape, d, b - a)))
                self.claim(parts[-1], {"of": out, str(d): [a, b]})
            return self.joined(parts, d)
        if way < .6 and s is not None:
            own = [along(t, s, self.shard) for t in operands_]
            if any(isinstance(t, str) and t != u for t, u in zip(own, operands_)):
                part = self.graph.add(kind, own, changed(shape, s, shape[s] // self.ranks))
                self.claim(part, {"of": out, str(s): "tp"})
                return self.gather(part, s, shape)
        return self.graph.add(kind, operands_, shape)

    def make_slice(self, operands_, shape, attrs, out):
        [t] = operands_
        return self.piece(t, attrs["dim"], attrs["start"], attrs["stop"])

    def make_select(self, operands_, shape, attrs, out):
        [t] = operands_
        part = self.piece(t, attrs["dim"], attrs["index"], attrs["index"] + 1)
        return self.graph.add("squeeze", [part], shape, dim=attrs["dim"])

    def make_expand(self, operands_, shape, attrs, out):
        [t] = operands_
        if len(self.shape(t)) < len(shape):
            return self.graph.add("stack", [self.instead(t) for _ in range(shape[0])], shape, dim=0)
        [d] = [k for k, n in enumerate(self.shape(t)) if n != shape[k]]
        return self.joined([t] * shape[d], d)

    def make_flip(self, operands_, shape, attrs, out):
        [t] = operands_
        [d] = attrs["dims"]
        if shape[d] < 2:
            return self.graph.add("identity", [t], shape)
        parts = [self.graph.add("flip", [part], self.shape(part), dims=[d]) if b - a > 1 else part
                 for a, b, part in self.pieces(t, d)]
        return self.joined(parts[::-1], d)

    def make_pad(self, operands_, shape, attrs, out):
        [t] = operands_
        at = next(k for k, n in enumerate(attrs["pad"]) if n) // 2 * 2
        d = len(shape) - 1 - at // 2
        parts = [t]
        for place, width in ((0, attrs["pad"][at]), (1, attrs["pad"][at + 1])):
            if width == 0:
                continue
            one = self.graph.add("mul", [self.piece(t, d, 0, 1), self.site(0, [1])], changed(shape, d, 1))
            parts[len(parts) * place:0] = [one] * width
        return self.joined(parts, d)

    def make_sum(self, operands_, shape, attrs, out, factor=None):
        [t] = operands_
        d = attrs["dim"]
        x = self.shape(t)

        def total(part):
            return self.graph.add("sum", [part], shape, **attrs)

        if self.ranks > 1 and x[d] % self.ranks == 0 and self.rng.random() < .5:
            part = total(self.shard(t, d))
            self.lineage.setdefault(part, {"of": out, "partial": "tp"}) if self.with_lineage and not factor else None
            result = self.all_reduce(part)
        elif x[d] > 1:
            result = None
            for _, _, part in self.pieces(t, d):
                result = self.add(result, total(part)) if result else total(part)
        else:
            result = total(t)
        return self.graph.add("mul", [result, factor], shape) if factor else result

    def make_mean(self, operands_, shape, attrs, out):
        n = self.shape(operands_[0])[attrs["dim"]]
        if n not in (1, 2, 4):
            return self.graph.add("mean", operands_, shape, **attrs)
        return self.make_sum(operands_, shape, attrs, out, factor=self.site(1 / n, [.75]))

    def make_matmul(self, operands_, shape, attrs, out, op="matmul"):
        x, y = (self.instead(t) for t in operands_)
        dim = 0 if op == "matmul" else 1  # of y: the one that is summed
        k = self.shape(x)[1]
        way = self.rng.random()
        if way < .2 and k > 1:
            x, y = (self.graph.add("flip", [t], self.shape(t), dims=[d]) for t, d in ((x, 1), (y, dim)))
            return self.graph.add(op, [x, y], shape)
        if way < .5 and self.ranks > 1 and k % self.ranks == 0:
            part = self.graph.add(op, [self.shard(x, 1), self.shard(y, dim)], shape)
            return self.all_reduce(part)
        if way < .65 and self.ranks > 1 and shape[0] % self.ranks == 0:
            part = self.graph.add(op, [self.shard(x, 0), y], changed(shape, 0, shape[0] // self.ranks))
            self.claim(part, {"of": out, "0": "tp"})
            return self.gather(part, 0, shape)
        if k > 1:
            places = self.places(k)
            result = None
            for a, b in zip(places, places[1:]):
                part = self.graph.add(op, [self.piece(x, 1, a, b), self.piece(y, dim, a, b)], shape)
                result = self.add(result, part) if result else part
            return result
        return self.graph.add(op, [x, y], shape)

    def make_linear(self, operands_, shape, attrs, out):
        return self.make_matmul(operands_, shape, attrs, out, op="linear")

    def make_concat(self, operands_, shape, attrs, out):
        return self.joined(operands_, attrs["dim"])

    def file(self):
        output = self.model.steps[-1][2]
        tensor, relation = self.full[output], {}
        shape = self.model.graph.shapes[output]
        s = self.sharded_dim(shape)
        if s is not None and self.rng.random() < .3:
            tensor, relation = self.shard(tensor, s), {str(s): "tp"}
        elif tensor in self.inputs:
            tensor = self.graph.add("identity", [tensor], shape)
        lineage = {t: r for t, r in self.lineage.items() if t != tensor}
        program = {"inputs": self.inputs, "operators": self.graph.operators, "outputs": {output: tensor}}
        if lineage:
            program["lineage"] = lineage
        if self.exceptions:
            program["exceptions"] = self.exceptions
        return {"planproof": 1,
                "specification": {"inputs": {n: list(s) for n, s in self.model.inputs.items()},
                                  "operators": self.model.graph.operators, "outputs": {output: relation}},
                "plan": {"mesh": {"tp": self.ranks}, "programs": [program]}}


def plan_file(seed):
    """Every second seed has a mistake, if there is a place for one."""
    model = Model(random.Random(f"model {seed}"))
    plan = Plan(model, seed)
    file = plan.file()
    if seed % 2 == 1 and plan.sites:
        mistake = random.Random(f"site {seed}").randrange(plan.sites)
        file = Plan(model, seed, mistake).file()
    return file
