"""Plans of collectives over one or several axes, within and between programs, with single ranks that do something
else.
"""
from unrolled import Communication, Plan, Program, Tensor


def plan(random):
    return Maker(random).make()


class Maker:
    def __init__(self, random):
        self.random = random

    def make(self):
        r = self.random
        while True:
            axes = r.sample(["dp", "tp", "pp"], r.choice([1, 2, 2, 3]))
            mesh = {axis: r.choice([2, 2, 2, 3, 4, 5, 6]) for axis in axes}
            total = 1
            for extent in mesh.values():
                total *= extent
            if total <= 8:
                break
        self.plan = Plan(mesh, r.choice([1, 1, 1, 2, 2, 3]))
        self.talk = Communication(self.plan, r)
        self.plan.programs = self.programs(mesh)
        self.leaves()
        for _ in range(r.choice([2, 3, 4, 5, 6])):
            self.step()
        self.require()
        self.lineage()
        return self.restated(self.plan.content())

    def restated(self, content):
        """The same with other words: roles of inputs, relations that the specification prescribes, lists in place of
        objects.
        """
        r = self.random
        model, programs = content["specification"], content["plan"]["programs"]
        for name in list(model["inputs"]):
            role = r.choice(["inputs", "inputs", "inputs", "parameters", "buffers"])
            if role != "inputs":
                model.setdefault(role, {})[name] = model["inputs"].pop(name)
        if r.random() < .15 and all(p["inputs"] == programs[0]["inputs"] for p in programs):
            model["relations"] = programs[0]["inputs"]
            for program in programs:
                if r.random() < .7:
                    program["inputs"] = list(program["inputs"])
        for program in programs:
            for name in program.get("outputs", {}):
                if r.random() < .15:
                    on = {axis: [c] if r.random() < .5 else c for axis, c in program.get("devices", {}).items()}
                    model["outputs"][name] = {**model["outputs"][name], "on": on}
        if len(programs) == 1 and r.random() < .3 and all(relation == {} for relation in model["outputs"].values()):
            model["outputs"] = list(model["outputs"])
        return content

    def programs(self, mesh):
        """One program, or one for each coordinate of an axis, of which one may be divided further."""
        r = self.random
        if r.random() < .5:
            return [Program(self.plan, "main", {})]
        axis = r.choice(list(mesh))
        result = [Program(self.plan, f"p{k}", {axis: k}) for k in range(mesh[axis])]
        others = [a for a in mesh if a != axis]
        if others and r.random() < .25:
            second = r.choice(others)
            last = result.pop()
            result += [Program(self.plan, f"{last.name}{chr(97 + k)}", {**last.fixed, second: k})
                       for k in range(mesh[second])]
        return result

    def leaves(self):
        """x is cut somehow, alike in all programs; w is whole everywhere."""
        r, own = self.random, self.plan
        axes = list(own.mesh) + (["microbatch"] if own.microbatches > 1 else [])
        rank = r.choice([1, 2, 2])
        for name in ("x", "y")[:r.choice([1, 1, 2])]:
            cuts = {}
            for axis in r.sample(axes, r.randint(0 if r.random() < .2 else 1, len(axes))):
                cuts.setdefault(r.randrange(rank), []).append(axis)
            shape = [r.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
            for k, cut in cuts.items():
                for axis in cut:
                    shape[k] *= own.extent(axis)
            own.leaves[name] = shape
            for program in own.programs:
                own.input(program, name, name, shape, cuts)
                if len({tuple(p.fixed) for p in own.programs}) > 1 and r.random() < .4:
                    program.inputs[name]["overlap"] = True
        own.leaves["w"] = [r.choice([2, 3, 4]), r.choice([2, 3])]
        for program in own.programs:
            own.input(program, "w", "w", own.leaves["w"], {})
        if r.random() < .15:
            own.constants = r.choice(["ones", "zeros"])
            for program in own.programs:
                own.input(program, "o", "o", own.leaves["w"], {})

    def step(self):
        r = self.random
        choice = r.random()
        programs = self.plan.programs
        if len(programs) > 1 and choice < .35:
            self.between() if r.random() < .55 else self.move()
        elif choice < .68:
            self.within(r.choice(programs))
        else:
            self.local(r.choice(programs))
        if r.random() < .3:
            self.exception(r.choice(programs))

    def usable(self, program):
        """Tensors that hold something everywhere, the newest more often."""
        return [n for n, t in program.tensors.items() if None not in t.logical.values()]

    def pick(self, program):
        names = self.usable(program)
        return names[-1] if self.random.random() < .5 else self.random.choice(names)

    def local(self, program):
        r, own = self.random, self.plan
        name = self.pick(program)
        shape = list(program.tensors[name].shape)
        kind = r.choice(["unary", "unary", "scaled", "binary", "binary", "sliced", "by rank", "flip",
                         "transpose", "sum", "linear", "reshape"])
        if kind == "unary":
            own.local(program, r.choice(["neg", "relu", "square", "abs"]), [name], shape=shape)
        elif kind == "scaled":
            own.local(program, r.choice(["mul", "add", "sub"]), [name, r.choice([2, 3, -1, 0.5, {"literal": "1/3"}])],
                      shape=shape)
        elif kind == "binary":
            others = [n for n in self.usable(program) if list(program.tensors[n].shape) == shape]
            own.local(program, r.choice(["add", "mul", "sub", "maximum"]), [name, r.choice(others)], shape=shape)
        elif kind == "sliced":
            self.sliced(program, name, shape)
        elif kind == "by rank":
            self.by_rank(program, name, shape)
        elif kind == "flip":
            own.local(program, "flip", [name], {"dims": [r.randrange(len(shape))]}, shape=shape)
        elif kind == "transpose" and len(shape) == 2:
            own.local(program, "transpose", [name], {"dim0": 0, "dim1": 1}, shape=shape[::-1])
        elif kind == "sum":
            k = r.randrange(len(shape))
            own.local(program, r.choice(["sum", "max", "mean"]), [name], {"dim": k, "keepdim": True},
                      shape=shape[:k] + [1] + shape[k + 1:])
        elif kind == "linear" and shape[-1] == own.leaves["w"][1]:
            own.local(program, "linear", [name, "w"], shape=shape[:-1] + [own.leaves["w"][0]])
        elif kind == "reshape" and len(shape) == 2:
            own.local(program, "reshape", [name], {"shape": [shape[0] * shape[1]]}, shape=[shape[0] * shape[1]])

    def by_rank(self, program, name, shape):
        """An operator whose attribute is an expression of the coordinates."""
        r, own = self.random, self.plan
        axes = [a for a in program.free() if a != "microbatch" or r.random() < .5]
        if not axes:
            return
        axis, other = r.choice(axes), r.choice(axes)
        k = r.randrange(len(shape))
        modulus = r.choice([2, 2, 3])
        whole = r.choice([axis, f"{axis} * 2 - {other}", f"{axis} % {modulus}", f"({axis} + 1) % {modulus}",
                          f"{axis} / 2", f"{axis} * {other}"])
        kind = r.choice(["alpha", "alpha", "clamp", "flip", "transpose", "narrow", "narrow", "pad"])
        if kind == "alpha":
            operands = [name, r.choice([n for n in self.usable(program) if list(program.tensors[n].shape) == shape])]
            own.local(program, r.choice(["add", "sub"]), operands, {"alpha": "=" + whole}, shape=shape)
        elif kind == "clamp":
            own.local(program, "clamp", [name], {r.choice(["min", "max"]): "=" + whole}, shape=shape)
        elif kind == "flip":
            own.local(program, "flip", [name], {"dims": [f"={axis} % {len(shape)}"]}, shape=shape)
        elif kind == "transpose" and len(shape) == 2 and shape[0] == shape[1]:
            own.local(program, "transpose", [name], {"dim0": f"={axis} % 2", "dim1": 1}, shape=shape)
        elif kind == "pad":
            wide = shape[:-1] + [shape[-1] + modulus]
            pad = [f"={axis} % {modulus}", f"={modulus} - {axis} % {modulus}"]
            own.local(program, "pad", [name], {"pad": pad}, shape=wide)
        elif kind == "narrow" and shape[k] > 1:
            local = shape[:k] + [1] + shape[k + 1:]
            start = f"=({axis} + {r.randrange(3)}) % {shape[k]}"
            own.local(program, "narrow", [name], {"dim": k, "start": start, "length": 1}, shape=local)

    def sliced(self, program, name, shape):
        """A slice whose place is an expression of the coordinates."""
        r, own = self.random, self.plan
        k = r.randrange(len(shape))
        axes = [a for a in program.free() if a != "microbatch" or r.random() < .5]
        if not axes:
            return
        axis = r.choice(axes)
        count = own.extent(axis)
        if shape[k] % count == 0 and r.random() < .6:
            size = shape[k] // count
            start = r.choice([f"={axis} * {size}", f"=({axis} + 1) % {count} * {size}",
                              f"={(count - 1) * size} - {axis} * {size}"])
        else:
            size = max(1, shape[k] - r.choice([1, 2]))
            start = f"={axis} % {shape[k] - size + 1}"
        local = shape[:k] + [size] + shape[k + 1:]
        own.local(program, "narrow", [name], {"dim": k, "start": start, "length": size}, shape=local)

    def collective(self, shape, count, between=False):
        """Content of a collective that fits a local shape."""
        r = self.random
        divisible = [k for k, e in enumerate(shape) if e % count == 0]
        kinds = ["all_reduce", "all_reduce", "all_gather"] + (["reduce_scatter", "all_to_all"] if divisible else [])
        if not between:
            kinds += ["broadcast", "permute", "permute"] + ["chunk"] * bool(divisible)
            kinds += ["reduce"] * (r.random() < .4)
        op = r.choice(kinds)
        content = {"op": op}
        if op in ("all_reduce", "reduce_scatter") and r.random() < .6:
            content["reduce"] = r.choice(["sum", "max", "min", "avg"])
        if op == "all_gather":
            content["dim"] = r.randrange(len(shape))
        elif op in ("reduce_scatter", "chunk"):
            content["dim"] = r.choice(divisible)
        elif op == "all_to_all":
            content["split_dim"], content["concat_dim"] = r.choice(divisible), r.randrange(len(shape))
        elif op in ("broadcast", "reduce"):
            content["root"] = r.randrange(count)
        elif op == "permute":
            if r.random() < .5:
                content["shift"] = r.randint(1, max(count - 1, 1))
            else:
                targets = r.sample(range(count), count)
                pairs = [[a, b] for a, b in enumerate(targets)]
                content["pairs"] = r.sample(pairs, r.randint(1, count))
        return content

    def within(self, program):
        r, own = self.random, self.plan
        free = [a for a in program.free() if a != "microbatch"]
        name = self.pick(program)
        tensor = program.tensors[name]
        if own.microbatches > 1 and "microbatch" in tensor.axes and r.random() < .35:
            if r.random() < .7:
                self.talk.within(program, {"op": "accumulate", "in": name})
                return
            free = free + ["microbatch"]
        if not free:
            return
        axes = r.sample(free, 1 if r.random() < .65 else min(2, len(free)))
        count = 1
        for axis in axes:
            count *= own.extent(axis)
        content = self.collective(tensor.shape, count)
        if content["op"] in ("permute", "broadcast", "reduce", "all_to_all") and len(axes) > 1:
            return
        if self.size(tensor.shape) * count > 64 and content["op"] == "all_gather":
            return
        content = {**content, "over": axes[0] if len(axes) == 1 else axes, "in": name}
        self.talk.within(program, content)

    def size(self, shape):
        total = 1
        for extent in shape:
            total *= extent
        return total

    def groups(self):
        """Sets of programs that fix the same axes."""
        found = {}
        for program in self.plan.programs:
            found.setdefault(tuple(program.fixed), []).append(program)
        return [own for own in found.values() if len(own) > 1]

    def between(self):
        r = self.random
        groups = self.groups()
        if not groups:
            return
        group = r.choice(groups)
        members = r.sample(group, r.randint(2, len(group)))
        first = self.pick(members[0])
        shape = members[0].tensors[first].shape
        chosen = [(members[0], first)]
        for program in members[1:]:
            fitting = [n for n in self.usable(program) if program.tensors[n].shape == shape]
            if not fitting:
                return
            chosen.append((program, r.choice(fitting)))
        if any(self.same_meeting(chosen)):
            return
        content = self.collective(shape, len(chosen), True)
        self.talk.between(content, chosen)

    def same_meeting(self, chosen):
        """A collective with these operands that is there already."""
        listed = [f"{p.name}:{t}" for p, t in chosen]
        return [o for p, _ in chosen for o in p.operators if o.get("in") == listed]

    def move(self):
        r = self.random
        program, sender = r.sample(self.plan.programs, 2)
        if set(sender.fixed) != set(program.fixed) and not set(sender.fixed) <= set(program.fixed) \
                and not set(program.fixed) <= set(sender.fixed):
            return
        shared = set(sender.fixed) & set(program.fixed)
        if any(sender.fixed[a] != program.fixed[a] for a in shared) or len(sender.fixed) == len(program.fixed):
            self.talk.move(program, sender, self.pick(sender), r.choice([None, None, None, "c"]))

    def exception(self, program):
        """Some ranks compute something else in place of a local operator, or reduce in another way."""
        r, own = self.random, self.plan
        if not program.operators:
            return
        operator = program.operators[-1]
        out = operator["out"]
        tensor = program.tensors[out]
        free = [a for a in program.free() if a != "microbatch" or "microbatch" in tensor.axes]
        if not free or any(e["replace"] == out for e in program.exceptions) or operator["op"] in ("move",) or (
                ":" in str(operator["in"])):
            return
        at = {}
        for axis in r.sample(free, r.randint(1, len(free))):
            extent = own.extent(axis)
            some = sorted(r.sample(range(extent), r.randint(1, extent)))
            at[axis] = r.randrange(extent) if r.random() < .7 else some
        if "over" in operator or operator["op"] == "accumulate":
            return
        self.replaced(program, operator, tensor, at)

    def replaced(self, program, operator, tensor, at):
        r, own = self.random, self.plan
        operands = operator["in"] if isinstance(operator["in"], list) else [operator["in"]]
        operands = [o for o in operands if isinstance(o, str)]
        same = [n for n in operands if tuple(program.tensors[n].shape) == tensor.shape]
        content = {"op": operator["op"], "in": operator["in"], "out": tensor.name + ".x",
                   **({"attrs": operator["attrs"]} if "attrs" in operator else {})}
        kind = r.choice(["scaled", "scaled", "operand", "attribute"])
        with_ = [content, {"op": "mul", "in": [content["out"], r.choice([2, -1, 0, 0.5])], "out": tensor.name}]
        if kind == "operand" and same:
            with_ = [{"op": r.choice(["neg", "identity", "square"]), "in": r.choice(same), "out": tensor.name}]
        elif kind == "attribute" and operator["op"] in ("neg", "relu", "square", "abs"):
            with_ = [{**content, "op": r.choice(["neg", "relu", "square", "abs"]), "out": tensor.name}]
        program.exceptions.append({"at": at, "replace": tensor.name, "with": with_ if len(with_) > 1 or r.random() < .3
                                   else with_[0]})
        wide = own.over_everything(tensor, at)
        found, temporary = {}, {}
        before = dict(program.tensors)
        for inner in with_:
            inside = inner["in"] if isinstance(inner["in"], list) else [inner["in"]]
            program.tensors = {**before, **temporary}
            _, result = own.local(program, inner["op"], inside, inner.get("attrs"), inner["out"], tensor.shape, False)
            temporary[inner["out"]] = result
        program.tensors = before
        special = temporary[tensor.name]
        for place, name in wide.logical.items():
            coordinates = {**program.fixed, **dict(zip(wide.axes, place))}
            inside = all(coordinates[a] in (v if isinstance(v, list) else [v]) for a, v in at.items())
            found[place] = own.at(special, coordinates) if inside else name
        program.tensors[tensor.name] = Tensor(tensor.name, tensor.shape, wide.axes, found)

    def require(self):
        """The newest tensors of each program are required, as slices of what stacks them all."""
        r, own = self.random, self.plan
        for program in own.programs:
            names = [n for n in self.usable(program) if n not in program.inputs]
            for name in names[-r.choice([1, 1, 2]):]:
                logical, relation = own.stacked(program.tensors[name])
                required = f"{program.name}.{name}"
                own.model.append({"op": "identity", "in": logical, "out": required})
                own.required[required] = relation
                program.outputs[required] = name
        if not own.required:
            program = own.programs[0]
            own.model.append({"op": "identity", "in": own.stacked(program.tensors["x"])[0], "out": "z"})
            own.required["z"] = own.stacked(program.tensors["x"])[1]
            program.outputs["z"] = "x"

    def lineage(self):
        r, own = self.random, self.plan
        if r.random() < .5:
            return
        for program in own.programs:
            for name in self.usable(program):
                if name not in program.inputs and r.random() < .5:
                    logical, relation = own.stacked(program.tensors[name])
                    claim = {"of": logical, **relation}
                    if r.random() < .2:
                        claim = {**claim, "factor": 2, "of": own.add("mul", [logical, 0.5])}
                    program.lineage[name] = claim
