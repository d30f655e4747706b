"""What is true of a plan file: equal, different, undefined (where the model is defined) or malformed."""
import decimal
import random as randoms
from dataclasses import dataclass

import tape
from cover import Holding, check_holdings
from inputs import Inputs, STYLES, meets
from language_parser import LanguageError
from machine import Machine
from model import Model, as_list
from operators import Operators
from program import Plan
from reals import MINUS_INFINITY, TooClose, UNDEFINED, same
from relations import Relation, named_relations
from tensors import Malformed, REAL_TYPES, Undecided

EQUAL, DIFFERENT, UNDEFINED_PLAN, MALFORMED, OPEN = "equal", "different", "undefined", "malformed", "open"


@dataclass
class Truth:
    word: str
    why: str = ""
    inputs: object = None  # values of the leaves that show a difference
    tried: int = 0  # inputs at which the model is defined
    doubts: tuple = ()


class Judge:
    """A plan file's model and plan; Malformed, or Undecided where the documents leave the meaning open."""

    def __init__(self, content):
        try:
            self.operators = Operators.of_file(content)
        except LanguageError as error:
            raise Malformed(str(error)) from error
        self.model = Model(content["specification"], self.operators)
        self.plan = Plan(content["plan"], self.model, self.operators)
        self.required = self._required()
        self.domain = self.model.depends_on([name for _, _, name, _ in self.required])
        self.checked = False
        self.doubts = set()  # for which MALFORMED is a right answer, too

    def _required(self):
        """[(program, tensor, logical name, Relation)]."""
        model, plan = self.model.content, self.plan
        result = []
        wanted = model.get("outputs", {})
        for name, content in named_relations(wanted).items():
            asked = self._asked(name, content, isinstance(wanted, list))
            relation = {key: value for key, value in content.items() if key != "on"}
            claims = 0
            for program in plan.programs.values():
                tensor = self._claim(program, name)
                if tensor is None and program in asked:
                    raise Malformed(f"{program.name} does not claim {name}")
                if tensor is not None:
                    result.append((program, tensor, name, Relation(name, relation, plan.mesh, plan.microbatches)))
                    claims += 1
            if not claims:
                raise Malformed(f"nothing claims {name}")
        for parameter, name in model.get("updates", {}).items():
            result += self._updated(parameter, name)
        return result

    def _asked(self, name, content, is_list):
        """Programs that must claim an output."""
        programs = self.plan.programs.values()
        if name.startswith("grad.") and self.plan.is_parameter(name[5:]):
            return [p for p in programs if name[5:] in {r.of for r in p.inputs.values()}]
        if is_list:
            return list(programs)
        if "on" not in content:
            return []
        on = {axis: as_list(own) for axis, own in content["on"].items()}
        if set(on) - set(self.plan.mesh) or any(not 0 <= c < self.plan.mesh[a] for a, own in on.items() for c in own):
            raise Malformed("`on` names no device")
        return [p for p in programs if any(all(p.place(d, 0)[a] in own for a, own in on.items()) for d in p.devices)]

    def _updated(self, parameter, name):
        plan, result = self.plan, []
        for program in plan.programs.values():
            relations = [r for r in program.inputs.values() if r.of == parameter]
            tensor = self._claim(program, name)
            if tensor is None and relations:
                raise Malformed(f"{program.name} does not claim {name}")
            if tensor is not None and not relations:
                raise Malformed(f"{program.name} binds the new value of a parameter that it does not read")
            result += [(program, tensor, name, Relation(name, {**r.content, "of": name}, plan.mesh, plan.microbatches))
                       for r in relations]
        return result

    def _claim(self, program, name):
        """The tensor of the program that claims the required output."""
        listed = program.content.get("outputs", {})
        tensor = listed[name] if isinstance(listed, dict) and name in listed else name
        if tensor not in program.varies:
            if name in listed:
                raise Malformed(f"{name} is claimed by {tensor}, which nothing defines")
            return None
        return tensor

    def check_cover(self):
        """What is held of a logical tensor covers it, and overlaps only where it is said."""
        held = {}
        for program in self.plan.programs.values():
            for name, relation in program.inputs.items():
                if relation.of in self.model.leaves:
                    shape = self.model.leaves[relation.of][1]
                    held.setdefault(relation.of, []).append(Holding(program, name, relation, shape, None))
                elif not relation.of.startswith("grad."):
                    raise Malformed(f"{relation.of} is no input")
        for name, holdings in held.items():
            check_holdings(name, holdings, self.model.leaves[name][1])

    def all_doubts(self):
        return list(self.doubts) + [d for o in self.operators.declared.values() for d in o.doubts]

    def check_required(self, logical, machine):
        """The same of what is required."""
        held = {}
        for program, tensor, name, relation in self.required:
            shape = machine.memories[program.name].shapes[tensor][0]
            held.setdefault(name, []).append(Holding(program, tensor, relation, logical[name].shape, shape))
        for name, holdings in held.items():
            check_holdings(name, holdings, logical[name].shape)

    def check_lineage(self, logical, machine):
        """That claims could be true by their shapes; whether they are does not matter."""
        for program in self.plan.programs.values():
            for name, content in program.content.get("lineage", {}).items():
                if name not in program.varies or name in program.inputs:
                    raise Malformed(f"lineage of {name}, which no operator defines")
                relation = Relation(name, content, self.plan.mesh, self.plan.microbatches)
                if relation.of not in logical:
                    raise Malformed(f"lineage of {name}: no logical tensor {relation.of}")
                shape, kind = machine.memories[program.name].shapes[name]
                self._check_kinds(name, kind, logical[relation.of].kind)
                place = program.place(program.devices[0], 0)
                if relation.local_shape(logical[relation.of].shape, place, shape) != shape:
                    raise Malformed(f"lineage of {name} asks for another shape")
                for device in program.devices:
                    relation.positions(logical[relation.of].shape, program.place(device, 0), shape)
                if relation.axes() - program.varies[name] - set(program.fixed):
                    self.doubts.add(f"lineage of {name} names an axis over which it does not vary")

    def _check_kinds(self, name, own, wanted):
        """Real numbers of any precision stand for each other; of truth values in place of numbers the documents say
        nothing.
        """
        if (own in REAL_TYPES and wanted in REAL_TYPES) or own == wanted:
            return
        if "bool" not in (own, wanted):
            raise Malformed(f"{name} has the element type {own}, {wanted} is wanted")
        self.doubts.add(f"{name} has the element type {own}, {wanted} is wanted")

    def compare(self, leaves, random):
        """None if the model is undefined at these inputs, else (word, why)."""
        if not all(meets(leaves[name], self.model.premises.get(name, [])) for name in leaves):
            return None
        logical = self.model.evaluate(leaves)
        if any(v is UNDEFINED for name in self.domain if name in logical for v in logical[name].flat):
            return None
        machine = Machine(self.plan, logical, random)
        machine.run()
        if not self.checked:
            self.check_required(logical, machine)
            self.check_lineage(logical, machine)
            self.checked = True
        word, why = EQUAL, ""
        for program, tensor, name, relation in self.required:
            found = self._difference(machine, program, tensor, logical[name], relation)
            if found is not None and (word == EQUAL or found[0] == DIFFERENT):
                word, why = found
        self.doubts |= machine.doubts
        if machine.wrong_order and word != DIFFERENT:
            return OPEN, machine.wrong_order
        return word, why

    def _difference(self, machine, program, tensor, logical, relation):
        everything = range(self.plan.microbatches)
        over = relation.axes() | program.varies[tensor]
        result = None
        for device in program.devices:
            for m in everything if "microbatch" in over else [0]:
                own = machine.memories[program.name].read(device, tensor, m)  # all of them must be there
                wanted = relation.slice_of(logical, program.place(device, m), own.shape)
                self._check_kinds(tensor, own.kind, wanted.kind)
                if wanted.shape != own.shape:
                    raise Malformed(f"{tensor} has shape {own.shape}, {wanted.shape} is required")
                for at, (a, b) in enumerate(zip(wanted.flat, own.flat)):
                    if (result and result[0] == DIFFERENT) or a is MINUS_INFINITY or same(a, b):
                        continue
                    why = f"{tensor} of {program.name} at {device}, microbatch {m}, element {at}: {a} and {b}"
                    result = (UNDEFINED_PLAN if b is UNDEFINED else DIFFERENT, why)
        return result

    def at(self, leaves, random):
        """As `compare`, for one input; what the documents leave open is OPEN."""
        try:
            return self.compare(leaves, random)
        except (TooClose, decimal.Overflow):
            return None
        except Undecided as error:
            return OPEN, str(error)
        except tape.KinkWithoutRule:
            return OPEN, "a derivative at a kink without a tie rule"


def truth(content, random, rounds=10):
    """The truth by `rounds` inputs of several styles."""
    try:
        judge = Judge(content)
        judge.check_cover()
        inputs = Inputs(judge.model, random)
        found, tried = Truth(EQUAL), 0
        for k in range(3 * rounds):
            if tried >= rounds:
                break
            leaves = inputs.draw(STYLES[k % len(STYLES)])
            result = judge.at(leaves, randoms.Random(random.random()))
            if result is None:
                continue
            tried += 1
            word, why = result
            if word == DIFFERENT or (word != EQUAL and found.word == EQUAL):
                found = Truth(word, why, leaves)
            if word in (DIFFERENT, OPEN):
                break
        found.tried, found.doubts = tried, tuple(judge.all_doubts())
        if not tried:
            return Truth(OPEN, "no inputs at which the model is defined")
        return found
    except Malformed as error:
        return Truth(MALFORMED, str(error))
    except Undecided as error:
        return Truth(OPEN, str(error))
