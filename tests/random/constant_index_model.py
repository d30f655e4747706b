"""Random models that read constant indices, slices and single elements."""


class Graph:
    """Operators in a file's form, with the shapes of their results."""

    def __init__(self, prefix):
        self.prefix, self.operators, self.shapes = prefix, [], {}

    def fresh(self):
        return f"{self.prefix}{len(self.operators)}"

    def add(self, op, inputs, shape, out=None, over=None, keys=None, **attrs):
        out = out or self.fresh()
        operator = {"op": op, "in": inputs, "out": out, **(keys or {})}
        if over:
            operator["over"] = over
        if attrs:
            operator["attrs"] = attrs
        self.operators.append(operator)
        self.shapes[out] = tuple(shape)
        return out


def without(shape, dims):
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def changed(shape, dim, extent):
    return shape[:dim] + (extent,) + shape[dim + 1:]


class Model:
    """A few random operators on one to three inputs."""

    def __init__(self, rng):
        self.rng = rng
        self.graph = Graph("m")
        self.inputs = {}
        for name in "xyz"[:rng.choice([1, 2, 2, 3])]:
            rank = rng.choice([1, 1, 2, 2, 2, 3])
            extents = {1: [2, 3, 5, 6, 9, 12, 20], 2: [1, 2, 3, 4, 5, 6, 7, 9], 3: [1, 2, 3, 4]}[rank]
            self.inputs[name] = tuple(rng.choice(extents) for _ in range(rank))
            if rng.random() < .3:  # indices of one dimension that are those of another
                self.inputs[name] = self.inputs[name][:1] * rank
        self.graph.shapes.update(self.inputs)
        self.steps = []  # (kind, inputs, output, what it needs to know)
        steps = rng.randint(2, 5)
        while len(self.steps) < steps:
            self.add_step()

    def pick(self, last=.6):
        names = list(self.graph.shapes)
        return names[-1] if self.rng.random() < last else self.rng.choice(names)

    def step(self, kind, inputs, shape, op=None, **attrs):
        out = self.graph.add(op or kind, inputs, shape, **attrs)
        self.steps.append((kind, inputs, out, attrs))

    def add_step(self):
        rng, shapes = self.rng, self.graph.shapes
        t = self.pick()
        shape = shapes[t]
        if not shape:
            self.step("unsqueeze", [t], (1,), dim=0)
            return
        d = rng.randrange(len(shape))
        n = shape[d]
        kind = rng.choice(["unary", "unary", "binary", "binary", "slice", "slice", "select", "expand", "expand",
                           "concat", "pad", "flip", "permute", "sum", "sum", "mean", "matmul", "matmul"])
        small = 1
        for extent in shape:
            small *= extent
        if kind == "unary":
            how = rng.choice(["mul", "mul", "mul", "neg", "neg", "square", "square", "add", "add", "relu", "abs"])
            if how in ("mul", "add"):
                self.step(how, [t, rng.choice([2, 3, -1, 5])], shape)
            else:
                self.step(how, [t], shape)
        elif kind == "binary":
            others = [o for o in shapes if shapes[o] == shape] + [
                o for o in shapes if shapes[o] == shape[1:] or shapes[o] == changed(shape, d, 1)]
            how = rng.choice(["mul"] * 5 + ["add", "add", "add", "sub", "sub", "maximum"])
            self.step(how, [t, rng.choice(others)], shape)
        elif kind == "slice" and n > 1:
            start = rng.choice([0, 0, rng.randrange(n)])
            stop = rng.choice([start + 1, rng.randint(start + 1, n)])
            self.step("slice", [t], changed(shape, d, stop - start), dim=d, start=start, stop=stop)
        elif kind == "select" and len(shape) > 1:
            self.step("select", [t], without(shape, [d]), dim=d, index=rng.choice([0, n - 1, rng.randrange(n)]))
        elif kind == "expand" and small <= 30:
            k = rng.choice([2, 3, 5])
            if n == 1:
                self.step("expand", [t], changed(shape, d, k), size=list(changed(shape, d, k)))
            elif len(shape) < 3:
                self.step("expand", [t], (k,) + shape, size=[k] + list(shape))
        elif kind == "concat" and small <= 40:
            others = [o for o in shapes if len(shapes[o]) == len(shape) and
                      changed(shapes[o], d, 0) == changed(shape, d, 0) and shapes[o][d] <= 7]
            other = rng.choice(others or [t])
            self.step("concat", [t, other], changed(shape, d, n + shapes[other][d]), dim=d)
        elif kind == "pad" and small <= 40:
            before, after = rng.choice([(1, 0), (0, 2), (2, 1), (0, 1)])
            margins = [0, 0] * len(shape)
            margins[2 * (len(shape) - 1 - d)], margins[2 * (len(shape) - 1 - d) + 1] = before, after
            self.step("pad", [t], changed(shape, d, n + before + after), pad=margins)
        elif kind == "flip":
            self.step("flip", [t], shape, dims=[d])
        elif kind == "permute" and len(shape) > 1:
            dims = list(range(len(shape)))
            while dims == sorted(dims):
                rng.shuffle(dims)
            self.step("permute", [t], [shape[k] for k in dims], dims=dims)
        elif kind in ("sum", "mean"):
            keep = len(shape) == 1 or rng.random() < .5
            self.step(kind, [t], changed(shape, d, 1) if keep else without(shape, [d]), dim=d, keepdim=keep)
        elif kind == "matmul" and len(shape) == 2:
            others = [o for o in shapes if len(shapes[o]) == 2 and shapes[o][0] == shape[1] and o != t]
            if others:
                other = rng.choice(others)
                self.step("matmul", [t, other], (shape[0], shapes[other][1]))
            else:
                others = [o for o in shapes if len(shapes[o]) == 2 and shapes[o][1] == shape[1]]
                other = rng.choice(others)
                self.step("linear", [t, other], (shape[0], shapes[other][0]))
        else:
            self.step("flip", [t], shape, dims=[d])
