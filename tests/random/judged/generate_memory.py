"""Plans that run by a schedule, in buffers: phases, steps, microbatches, collectives in flight, results written over
operands.

The operators are those of generate_collectives.py. Buffers are mostly shared by tensors whose lives do not overlap in
the order listed, so that many plans are right; whether one is, with its schedule, is for the machine to find out.
"""
import generate_collectives
from model import as_list
from unrolled import Communication, Plan, Program

FOREVER = 10 ** 6


def plan(random):
    return Maker(random).make()


class Maker(generate_collectives.Maker):
    def make(self):
        r = self.random
        mesh = r.choice([{"pp": 2}, {"pp": 2}, {"tp": 2}, {"pp": 2, "tp": 2}, {"pp": 3}, {"tp": 3}, {"tp": 1}])
        self.plan = Plan(mesh, r.choice([1, 2, 2, 3]))
        self.talk = Communication(self.plan, r)
        self.plan.programs = ([Program(self.plan, f"p{k}", {"pp": k}) for k in range(mesh["pp"])]
                              if "pp" in mesh and r.random() < .8 else [Program(self.plan, "main", {})])
        self.leaves()
        for _ in range(r.choice([3, 4, 5, 6, 7])):
            self.step()
        self.require()
        content = self.plan.content()
        for program in content["plan"]["programs"]:
            self.start_some(program)
            phases = self.schedule(program) if r.random() < .6 else None
            if r.random() < .8:
                self.share_buffers(program, phases)
        return content

    def leaves(self):
        """x is cut by microbatches and perhaps ranks; w is whole."""
        r, own = self.random, self.plan
        shape = r.choice([[2, 2], [2, 3], [3, 2], [4], [2, 2]])
        cuts = {}
        if own.microbatches > 1 and r.random() < .9:
            cuts[0] = ["microbatch"]
        if "tp" in own.mesh and r.random() < .6:
            cuts.setdefault(r.randrange(len(shape)), []).insert(0, "tp")
        whole = [e for e in shape]
        for k, axes in cuts.items():
            for axis in axes:
                whole[k] *= own.extent(axis)
        own.leaves["x"] = whole
        own.leaves["w"] = [shape[-1], shape[-1]]
        for program in own.programs:
            own.input(program, "x", "x", whole, cuts)
            own.input(program, "w", "w", own.leaves["w"], {})

    def step(self):
        r = self.random
        programs = self.plan.programs
        choice = r.random()
        if len(programs) > 1 and choice < .3:
            self.between() if r.random() < .3 else self.move()
        elif choice < .5:
            self.within(r.choice(programs))
        else:
            self.local(r.choice(programs))
        if r.random() < .04:
            self.exception(r.choice(programs))

    def local(self, program):
        """Mostly operators that keep the shape, of which some may write over their operands."""
        r, own = self.random, self.plan
        name = self.pick(program)
        shape = list(program.tensors[name].shape)
        kind = r.choice(["unary", "unary", "scaled", "binary", "binary", "flip", "transpose", "linear", "reshape",
                         "sum", "softmax", "expand"])
        if kind == "linear" and shape[-1] == own.leaves["w"][1]:
            own.local(program, "linear", [name, "w"], shape=shape)
        elif kind == "softmax" and r.random() < .3:
            own.local(program, "softmax", [name], {"dim": -1}, shape=shape)
        elif kind == "reshape":
            size = self.size(shape)
            new = r.choice([[size], [1, size], shape[::-1]])
            own.local(program, "reshape", [name], {"shape": new}, shape=new)
        elif kind == "expand" and len(shape) == 2:
            own.local(program, "sum", [name], {"dim": 0, "keepdim": True}, shape=[1, shape[1]])
        elif kind == "transpose" and len(shape) == 2:
            own.local(program, "transpose", [name], {"dim0": 0, "dim1": 1}, shape=shape[::-1])
        elif kind == "flip":
            own.local(program, "flip", [name], {"dims": [r.randrange(len(shape))]}, shape=shape)
        elif kind == "binary":
            others = [n for n in self.usable(program) if list(program.tensors[n].shape) == shape]
            own.local(program, r.choice(["add", "mul", "sub"]), [name, r.choice(others)], shape=shape)
        elif kind == "scaled":
            own.local(program, r.choice(["mul", "add", "sub"]), [name, r.choice([2, 3, -1])], shape=shape)
        else:
            own.local(program, r.choice(["neg", "relu", "square"]), [name], shape=shape)

    # Collectives in flight.

    def reads(self, operator, tensor):
        return tensor in as_list(operator.get("in")) or any(
            tensor in as_list(inner.get("in")) for inner in as_list(operator.get("with")))

    def readers(self, program, tensor):
        """Positions of the operators that read a tensor, their exceptions included."""
        found = []
        for at, operator in enumerate(program["operators"]):
            replaced = [o for e in program.get("exceptions", []) if e["replace"] in as_list(operator.get("out"))
                        for o in as_list(e["with"])]
            named = [n for o in [operator] + replaced for n in as_list(o.get("in"))]
            if tensor in named or f"{program['name']}:{tensor}" in named:
                found.append(at)
        return found

    def start_some(self, program):
        r = self.random
        for operator in list(program["operators"]):
            communicates = "over" in operator or operator["op"] == "move" or ":" in str(operator.get("in"))
            if not communicates or operator["op"] in ("accumulate", "chunk") or r.random() < .6 or any(
                    e["replace"] == operator["out"] for e in program.get("exceptions", [])):
                continue
            operator["async"] = "h" + operator["out"]
            at = program["operators"].index(operator)
            last = min(self.readers(program, operator["out"]), default=len(program["operators"]))
            position = r.randint(at + 1, last) if r.random() < .93 else r.randint(at + 1, len(program["operators"]))
            program["operators"].insert(position, {"op": "wait", "in": operator["async"]})

    # Schedules.

    def varies(self, program, operator):
        tensors = next(p for p in self.plan.programs if p.name == program["name"]).tensors
        out = operator.get("out") or next(o["out"] for o in program["operators"] if o.get("async") == operator["in"])
        return "microbatch" in tensors[out].axes

    def schedule(self, program):
        """Cuts the list into phases and writes steps; returns the phase of each operator."""
        r = self.random
        operators = program["operators"]
        if not operators:
            return None
        phases, number, before = [], 0, None
        for operator in operators:
            varies = self.varies(program, operator)
            if before is not None and (varies != before or r.random() < .35):
                number += 1
            phases.append(f"A{number}")
            before = varies
        begun = None
        for operator, phase in zip(operators, phases):
            if phase != begun:
                operator["phase"] = begun = phase
        kinds = {phase: self.varies(program, operators[phases.index(phase)]) for phase in phases}
        waiting, steps = list(dict.fromkeys(phases)), []
        while waiting:
            run = [waiting.pop(0)]
            if not kinds[run[0]] or r.random() < .2:
                steps.append(run[0])
                continue
            while waiting and kinds[waiting[0]] and r.random() < .7:
                run.append(waiting.pop(0))
            steps += self.interleaved(run)
        for _ in range(r.choice([0, 0, 0, 0, 1, 2])):
            if len(steps) > 1:
                at = r.randrange(len(steps) - 1)
                steps[at], steps[at + 1] = steps[at + 1], steps[at]
        program["schedule"] = steps
        return phases

    def interleaved(self, run):
        """Steps of several phases that all run once for each microbatch: in turn, one after the other, or one ahead."""
        r, count = self.random, self.plan.microbatches
        style = r.choice(["turns", "turns", "ahead", "phases", "loop"])
        if style == "phases":
            return [f"{phase}:0..{count}" for phase in run]
        if style == "loop":
            return [{"for": "i", "from": 0, "to": "microbatches", "do": [f"{phase}:i" for phase in run]}]
        if style == "ahead" and len(run) > 1:
            first, rest = run[0], run[1:]
            steps = [f"{first}:0"]
            for m in range(count):
                steps += [f"{first}:{m + 1}"] if m + 1 < count else []
                steps += [f"{phase}:{m}" for phase in rest]
            return steps
        return [f"{phase}:{m}" for m in range(count) for phase in run]

    # Buffers.

    def lives(self, program):
        """{tensor: (where it is defined, where it is read last)} in the order listed."""
        waits = {o["in"]: at for at, o in enumerate(program["operators"]) if o["op"] == "wait"}
        kept = set(program.get("outputs", {}).values())
        found = {}
        for at, operator in enumerate(program["operators"]):
            if "out" not in operator:
                continue
            out = operator["out"]
            last = max(self.readers(program, out), default=at)
            for reader in self.readers(program, out):
                last = max(last, waits.get(program["operators"][reader].get("async"), reader))
            found[out] = (at, FOREVER if out in kept else max(last, waits.get(operator.get("async"), at)))
        for name in program["inputs"]:
            found[name] = (-1, FOREVER if name in kept else max(self.readers(program, name), default=-1))
        return found

    def share_buffers(self, program, phases):
        r = self.random
        lives = self.lives(program)
        order = sorted(lives, key=lambda name: lives[name][0])
        buffers = {}
        for number in range(r.choice([1, 1, 2, 3])):
            free_from, members = -2, []
            for name in order:
                if name in buffers or (name in program["inputs"] and r.random() < .6):
                    continue
                begins, ends = lives[name]
                if begins >= free_from and r.random() < .75 or r.random() < .03:
                    members.append(name)
                    free_from = max(free_from, ends)
            count = self.plan.microbatches
            slots = r.choice([1, count, count, 2]) if phases else count
            for name in members:
                buffers[name] = f"buffer{number}" if slots == 1 and r.random() < .5 else {
                    "name": f"buffer{number}", "slots": slots}
        if buffers:
            program["buffers"] = buffers
