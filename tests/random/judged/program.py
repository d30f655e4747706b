"""The role `plan`, without values: programs, what their operators read and define, and over which axes tensors vary."""
import itertools

import collectives
import variation
from model import as_list
from relations import Relation, named_relations
from tensors import Malformed, Undecided

COMMON_KEYS = {"op", "in", "out", "attrs", "name", "source", "phase", "async", "channel", "note", "over"}
BACKWARD_KEYS = {"backward", "grad", "out", "in", "name", "source", "phase", "note"}


class Operator:
    """An operator of a program. `kind` is local, backward, within, between, move or wait."""

    def __init__(self, content, program):
        self.content = content
        self.program = program
        self.phase = None
        self.outputs = as_list(content.get("out")) if "backward" not in content else []
        self.exceptions = []  # ({axis: set of coordinates}, [Operator])
        self.handle = content.get("async")
        self.kind = self._kind(content)
        if self.kind in ("within", "between") and self.kind != "move":
            self._check_keys()
        if self.handle is not None and (self.kind not in ("within", "between", "move")
                                        or content["op"] in ("accumulate", "chunk")):
            raise Malformed("only communication is started")

    def _kind(self, content):
        if "backward" in content:
            if set(content) - BACKWARD_KEYS:
                raise Malformed(f"keys of a backward operator: {sorted(set(content) - BACKWARD_KEYS)}")
            return "backward"
        name = content.get("op")
        if name in ("move", "wait"):
            return name
        if name in collectives.WITHIN and ("over" in content or name == "accumulate"):
            return "within"
        if name in collectives.BETWEEN:
            return "between"
        if set(content) - COMMON_KEYS or "over" in content:
            raise Malformed(f"{name} has no key {sorted(set(content) - COMMON_KEYS)}")
        if not self.program.plan.operators.knows(name):
            raise Undecided(f"operator {name} is not known")
        return "local"

    def _check_keys(self):
        name = self.content["op"]
        extra = set(self.content) - COMMON_KEYS - set(collectives.KEYS[name])
        if extra or (name == "accumulate" and self.content.get("over", "microbatch") != "microbatch"):
            raise Malformed(f"{name} has no key {sorted(extra)}")
        for key in collectives.REQUIRED_KEYS.get(name, []):
            if key not in self.content:
                raise Malformed(f"{name} needs {key}")

    @property
    def over(self):
        if self.content["op"] == "accumulate":
            return ["microbatch"]
        return as_list(self.content["over"]) if self.kind == "within" else []

    @property
    def name(self):
        return self.content.get("name", self.outputs[0] if self.outputs else None)

    def operands(self):
        """Names of tensors of its own program that it reads."""
        if self.kind == "backward":
            return [n for n in self.backward_operands if isinstance(n, str)] + self.gradient_names
        if self.kind == "between":
            return [self.own_operand]
        if self.kind in ("move", "wait"):
            return []
        return [n for n in as_list(self.content.get("in")) if isinstance(n, str)]

    def everything(self):
        """The operator and those that stand in for it."""
        return [self] + [o for _, own in self.exceptions for o in own]


class Program:
    def __init__(self, plan, number, content):
        self.plan = plan
        self.content = content
        self.name = content.get("name", f"program{number}")
        self.fixed = {a: c for a, c in content.get("devices", {}).items() if a != "note"}
        for axis, coordinate in self.fixed.items():
            if axis not in plan.mesh or not 0 <= coordinate < plan.mesh[axis]:
                raise Malformed(f"no coordinate {axis} {coordinate}")
        self.free = [axis for axis in plan.mesh if axis not in self.fixed]
        self.devices = [tuple({**self.fixed, **dict(zip(self.free, place))}[a] for a in plan.mesh)
                        for place in itertools.product(*(range(plan.mesh[a]) for a in self.free))]
        self.varies = {}  # tensor: axes
        self.inputs = {}  # tensor: Relation
        self.operators = []
        self.defined_by = {}  # tensor: position of its operator
        self.position = -1  # how far names are known
        self.handles = {}  # handle: the operator that starts it
        self.buffers = self._buffers(content.get("buffers", {}))
        for name, relation in named_relations(content.get("inputs", {})).items():
            self._add_input(name, relation)

    def _buffers(self, content):
        result = {}
        for tensor, buffer in content.items():
            if isinstance(buffer, str):
                buffer = {"name": buffer}
            result[tensor] = (buffer["name"], buffer.get("slots", 1))
        if len({b for b, _ in result.values()}) != len(set(result.values())):
            raise Malformed("tensors of a buffer name different numbers of slots")
        return result

    def _add_input(self, name, content):
        prescribed = self.plan.prescribed
        listed = isinstance(self.content["inputs"], list)
        relation = Relation(name, content, self.plan.mesh, self.plan.microbatches)
        if relation.of in prescribed:
            own = Relation(relation.of, prescribed[relation.of], self.plan.mesh, self.plan.microbatches)
            if listed:
                relation = own
            elif not self._agrees(relation, own):
                raise Malformed(f"{name} is not held as the specification prescribes")
        if relation.partial or relation.factor != 1:
            raise Malformed("an input is no partial term")
        self.inputs[name] = relation
        self.define(name, relation.axes() - set(self.fixed), -1)

    def _agrees(self, relation, prescribed):
        """Whether two relations of one logical tensor say the same on every rank."""
        shape = self.plan.model.leaves[relation.of][1]
        return all(relation.positions(shape, self.place(d, m)) == prescribed.positions(shape, self.place(d, m))
                   for d in self.devices for m in range(self.plan.microbatches))

    def define(self, name, axes, at):
        if not isinstance(name, str) or not name:
            raise Malformed("an output has no name")
        if name in self.defined_by:
            raise Malformed(f"{name} is defined twice in {self.name}")
        self.defined_by[name] = at
        self.varies[name] = set(axes)

    def add_operators(self):
        phase = None
        for content in self.content.get("operators", []):
            operator = Operator(content, self)
            phase = content.get("phase", phase)
            operator.phase = phase
            self.operators.append(operator)
        for exception in self.content.get("exceptions", []):
            self._add_exception(exception)

    def _add_exception(self, content):
        replaced = [o for o in self.operators if content["replace"] in self.outputs_of(o)]
        if len(replaced) != 1:
            raise Malformed(f"an exception replaces {content['replace']}, which nothing defines")
        at = {}
        for axis, own in content["at"].items():
            own = set(as_list(own))
            if axis in self.fixed and axis in self.plan.mesh:
                raise Undecided("an exception at an axis that the program fixes")
            if axis not in self.free and axis != "microbatch":
                raise Malformed(f"an exception at no axis {axis!r}")
            if not own <= set(range(self.plan.extent(axis))):
                raise Malformed("an exception at no coordinate")
            at[axis] = own
        operators = []
        for inner in as_list(content["with"]):
            operator = Operator(inner, self)
            if operator.handle is not None or operator.kind == "wait" or "phase" in inner:
                raise Malformed("`with` neither starts nor waits for anything")
            operators.append(operator)
        replaced[0].exceptions.append((at, operators))

    def check_results(self, operator):
        """No buffer gets two results of one operator."""
        taken = [self.buffers[name][0] for name in self.outputs_of(operator) if name in self.buffers]
        if len(taken) > len(set(taken)):
            raise Malformed("a buffer gets two results of one operator")

    def outputs_of(self, operator):
        if operator.kind == "backward":
            return self.backward_outputs(operator)
        if operator.kind == "wait":
            return []
        return operator.outputs

    def backward_outputs(self, operator):
        forward = next((o for o in self.operators if o.name == operator.content["backward"]
                        and o.kind == "local"), None)
        if forward is None:
            raise Malformed(f"no local operator {operator.content['backward']}")
        if self.operators.index(forward) >= self.position and self.position >= 0:
            raise Malformed("a backward operator comes before the forward one")
        operator.forward = forward
        self._set_targets(operator)
        return [target for target, _ in operator.targets]

    def _set_targets(self, operator):
        """Fills in which tensors the operator reads, and which operands of the forward one its outputs belong to."""
        forward, plan, content = operator.forward, self.plan, operator.content
        names = as_list(forward.content["in"])
        tensors = [n for n in names if isinstance(n, str)]
        out = content.get("out")
        if out is None:
            out = {}
            for name in dict.fromkeys(tensors):
                if name not in self.inputs or plan.is_parameter(self.inputs[name].of):
                    out[name] = f"grad.{name}"
        if not isinstance(out, dict):
            raise Malformed("`out` of a backward operator names operands")
        targets = []
        for key, target in out.items():
            if key in tensors:
                positions = [k for k, n in enumerate(names) if n == key]
            elif key.isdigit() and int(key) < len(tensors):
                positions = [[k for k, n in enumerate(names) if isinstance(n, str)][int(key)]]
            else:
                raise Malformed(f"{key!r} is no operand of the forward operator")
            targets.append((target, positions))
        operator.targets = targets
        given = content.get("grad", {})
        if set(given) - set(forward.outputs):
            raise Malformed("`grad` names outputs of the forward operator")
        operator.gradient_names = [given.get(n, f"grad.{n}") for n in forward.outputs]
        operator.backward_operands = self._read_instead(content["in"], names) if "in" in content else names

    def _read_instead(self, given, names):
        """The forward operator's operands with other tensors in place of its own; numbers stay."""
        given = as_list(given)
        if len(given) != sum(isinstance(n, str) for n in names):
            raise Malformed("`in` of a backward operator has another number of tensors")
        given = iter(given)
        return [next(given) if isinstance(n, str) else n for n in names]

    def place(self, device, microbatch):
        return {**dict(zip(self.plan.mesh, device)), "microbatch": microbatch}


class Plan:
    def __init__(self, content, model, operators):
        self.content = content
        self.model = model
        self.operators = operators
        self.mesh = {a: e for a, e in content["mesh"].items() if a != "note"}
        if any(not isinstance(e, int) or e < 1 for e in self.mesh.values()):
            raise Malformed("extents of the mesh")
        self.microbatches = content.get("microbatches", 1)
        self.prescribed = model.content.get("relations", {})
        self.programs = {}
        for number, own in enumerate(content["programs"]):
            program = Program(self, number, own)
            if program.name in self.programs:
                raise Malformed("two programs have one name")
            self.programs[program.name] = program
            self._check_inputs(program)
        self._check_groups()
        for program in self.programs.values():
            program.add_operators()
        variation.find(self)

    def _check_inputs(self, program):
        """Inputs are there at the start, all of them."""
        taken = []
        for name in program.inputs:
            if name in program.buffers:
                buffer, slots = program.buffers[name]
                varies = "microbatch" in program.varies[name]
                taken += [(buffer, m % slots) for m in (range(self.microbatches) if varies else [0])]
        if len(taken) > len(set(taken)):
            raise Malformed("a slot of a buffer holds two inputs")

    def _check_groups(self):
        devices = [d for p in self.programs.values() for d in p.devices]
        everything = 1
        for extent in self.mesh.values():
            everything *= extent
        if len(devices) != len(set(devices)) or len(devices) != everything:
            raise Malformed("programs do not cover the mesh")

    def extent(self, axis):
        if axis == "microbatch":
            return self.microbatches
        if axis not in self.mesh:
            raise Malformed(f"no axis {axis!r}")
        return self.mesh[axis]

    def is_parameter(self, logical):
        return logical in self.model.leaves and self.model.leaves[logical][0] == "parameters"
