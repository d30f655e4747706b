"""What is true of a plan file: equal, different, undefined (where the model is defined) or malformed."""
import random as randoms
from dataclasses import dataclass

import tape
from inputs import Inputs, STYLES, meets
from language_parser import LanguageError
from machine import Machine
from model import Model
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
        self.checked = False
        self.doubts = []  # for which MALFORMED is a right answer, too

    def _required(self):
        """[(program, tensor, logical name, Relation)]."""
        model, plan = self.model.content, self.plan
        result = []
        wanted = model.get("outputs", {})
        for name, content in named_relations(wanted).items():
            claims = [(p, t) for p in plan.programs.values() for t in [self._claim(p, name)] if t is not None]
            parameter = name[5:] if name.startswith("grad.") else None
            for program in plan.programs.values():
                reads = plan.is_parameter(parameter) and parameter in {r.of for r in program.inputs.values()}
                if (reads or isinstance(wanted, list)) and program not in [p for p, _ in claims]:
                    raise Malformed(f"{program.name} does not claim {name}")
            if not claims:
                raise Malformed(f"nothing claims {name}")
            result += [(p, t, name, Relation(name, content, plan.mesh, plan.microbatches)) for p, t in claims]
        for parameter, name in model.get("updates", {}).items():
            for program in plan.programs.values():
                relations = [r for r in program.inputs.values() if r.of == parameter]
                for relation in relations:
                    tensor = self._claim(program, name)
                    if tensor is None:
                        raise Malformed(f"{program.name} does not claim {name}")
                    own = Relation(name, {**relation.content, "of": name}, plan.mesh, plan.microbatches)
                    result.append((program, tensor, name, own))
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
        """Slices of a logical tensor cover it. That they are copies or disjoint is not asked across inputs of several
        names.
        """
        held, overlapping = {}, set()
        for program in self.plan.programs.values():
            for relation in program.inputs.values():
                role, shape, _ = self.model.leaves.get(relation.of, (None, (), None))
                if role is None and not relation.of.startswith("grad."):
                    raise Malformed(f"{relation.of} is no input")
                if role is None:
                    continue
                if relation.content.get("overlap"):
                    overlapping.add(relation.of)
                for device in program.devices:
                    for m in range(self.plan.microbatches):
                        _, positions = relation.positions(shape, program.place(device, m))
                        held.setdefault(relation.of, set()).add(frozenset(positions))
        for name, slices in held.items():
            everything = frozenset().union(*slices)
            size = 1
            for extent in self.model.leaves[name][1]:
                size *= extent
            if len(everything) < size:
                raise Malformed(f"{name} is not covered")
            if name not in overlapping and sum(map(len, slices)) > size:
                self.doubts.append(f"slices of {name} overlap")

    def all_doubts(self):
        return self.doubts + [d for o in self.operators.declared.values() for d in o.doubts]

    def check_required(self, logical, machine):
        """What is required lies within the logical tensor, and all of it is held somewhere."""
        held = {}
        for program, tensor, name, relation in self.required:
            shape = machine.memories[program.name].shapes[tensor][0]
            for device in program.devices:
                for m in range(self.plan.microbatches):
                    _, positions = relation.positions(logical[name].shape, program.place(device, m), shape)
                    held.setdefault(name, set()).update(positions)
        for name, positions in held.items():
            if len(positions) < len(logical[name].flat):
                raise Malformed(f"nobody holds all of {name}")

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
                    self.doubts.append(f"lineage of {name} names an axis over which it does not vary")

    def _check_kinds(self, name, own, wanted):
        """Real numbers of any precision stand for each other; of truth values in place of numbers the documents say
        nothing.
        """
        if (own in REAL_TYPES and wanted in REAL_TYPES) or own == wanted:
            return
        if "bool" not in (own, wanted):
            raise Malformed(f"{name} has the element type {own}, {wanted} is wanted")
        self.doubts.append(f"{name} has the element type {own}, {wanted} is wanted")

    def compare(self, leaves, random):
        """None if the model is undefined at these inputs, else (word, why)."""
        if not all(meets(leaves[name], self.model.premises.get(name, [])) for name in leaves):
            return None
        logical = self.model.evaluate(leaves)
        if any(v is UNDEFINED for t in logical.values() for v in t.flat):
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
        if machine.wrong_order and word != DIFFERENT:
            return OPEN, machine.wrong_order
        return word, why

    def _difference(self, machine, program, tensor, logical, relation):
        everything = range(self.plan.microbatches)
        over = relation.axes() | program.varies[tensor]
        result = None
        for device in program.devices:
            for m in everything if "microbatch" in over else [0]:
                own = machine.memories[program.name].read(device, tensor, m)
                wanted = relation.slice_of(logical, program.place(device, m), own.shape)
                self._check_kinds(tensor, own.kind, wanted.kind)
                if wanted.shape != own.shape:
                    raise Malformed(f"{tensor} has shape {own.shape}, {wanted.shape} is required")
                for at, (a, b) in enumerate(zip(wanted.flat, own.flat)):
                    if a is MINUS_INFINITY or same(a, b):
                        continue
                    why = f"{tensor} of {program.name} at {device}, microbatch {m}, element {at}: {a} and {b}"
                    if b is UNDEFINED:
                        result = (UNDEFINED_PLAN, why)
                    else:
                        return DIFFERENT, why
        return result

    def at(self, leaves, random):
        """As `compare`, for one input; what the documents leave open is OPEN."""
        try:
            return self.compare(leaves, random)
        except TooClose:
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
