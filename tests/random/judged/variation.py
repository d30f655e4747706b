"""Over which axes tensors vary (docs/plan-format.md, "Programs"), and what must hold of names in the lists of
operators.
"""
import expressions
from model import as_list
from tensors import Malformed, Undecided


def find(plan):
    """Goes through all programs' lists; one that needs another program's tensor goes on when that is known."""
    position = dict.fromkeys(plan.programs, 0)
    moved = True
    while moved:
        moved = False
        for program in plan.programs.values():
            while position[program.name] < len(program.operators):
                program.position = position[program.name]
                if not _define(program, program.operators[position[program.name]], position[program.name]):
                    break
                position[program.name] += 1
                moved = True
    if any(position[p.name] < len(p.operators) for p in plan.programs.values()):
        raise Malformed("programs read what nothing defines, or wait for each other")
    for program in plan.programs.values():
        program.position = -1
        left = [h for h, o in program.handles.items() if not o.waited]
        if left:
            raise Malformed(f"handle {left[0]} is never waited for")
        if set(program.buffers) - set(program.varies):
            raise Malformed("a buffer of an unknown tensor")


def _known(program, name):
    if name not in program.varies:
        raise Malformed(f"{name} is not defined before it is read in {program.name}")
    return program.varies[name]


def _define(program, operator, at):
    """False: another program has to go on first."""
    if operator.kind == "wait":
        for handle in as_list(operator.content["in"]):
            started = program.handles.get(handle)
            if started is None or started.waited:
                raise Malformed(f"handle {handle} is not started, or waited for twice")
            started.waited = True
            program.define(started.outputs[0], started.axes, at)
        return True
    axes = _axes(program, operator)
    if axes is None:
        return False
    operator.axes = axes
    if operator.handle is not None:
        if operator.handle in program.handles:
            raise Malformed(f"handle {operator.handle} is started twice")
        program.handles[operator.handle] = operator
        operator.waited = False
        return True
    for name in program.outputs_of(operator):
        program.define(name, axes, at)
    program.check_results(operator)
    return True


def _axes(program, operator):
    if operator.kind == "move":
        return _moved(program, operator)
    if operator.kind == "between":
        return _between(program, operator)
    axes = _own_axes(program, operator, {})
    places = []
    for at, replacing in operator.exceptions:
        axes |= set(at)
        temporary = {}
        for inner in replacing:
            if inner.kind in ("move", "between"):
                raise Undecided("communication between programs in an exception")
            own = _own_axes(program, inner, temporary)
            for name in program.outputs_of(inner):
                temporary[name] = own
        axes |= set().union(*temporary.values())
        _check_exception(program, operator, at, replacing)
        for other in places:
            if all(other.get(a, {None}) & at.get(a, {None}) or a not in other or a not in at
                   for a in set(other) | set(at)):
                raise Malformed("two exceptions at the same coordinates")
        places.append(at)
    return axes


def _own_axes(program, operator, temporary):
    if operator.kind == "backward":
        program.outputs_of(operator)  # finds the forward operator and what is read
    names = operator.operands()
    axes = set()
    for name in names:
        axes |= temporary[name] if name in temporary else _known(program, name)
    for value in operator.content.get("attrs", {}).values() if "attrs" in operator.content else []:
        named = expressions.attribute_names(value)
        if named - set(program.plan.mesh) - {"microbatch"}:
            raise Malformed("an attribute names what is no axis")
        axes |= named - set(program.fixed)
    if operator.kind == "within":
        over = operator.over
        if len(set(over)) < len(over) or not over:
            raise Malformed("axes of a collective")
        if len(over) > 1 and operator.content["op"] in ("permute", "broadcast", "reduce", "all_to_all"):
            raise Malformed(f"{operator.content['op']} runs over one axis")
        for axis in over:
            program.plan.extent(axis)
            if axis in program.fixed:
                raise Malformed(f"a collective over {axis}, which the program fixes")
        if operator.content["op"] in ("all_reduce", "accumulate", "all_gather", "broadcast"):
            axes -= set(over)
        else:
            axes |= set(over)
    return axes


def _check_exception(program, operator, at, replacing):
    """Nobody is left waiting: a group of which some ranks alone are named runs the collective that is replaced."""
    def splits(axes):
        return any(len(at.get(a, range(program.plan.extent(a)))) < program.plan.extent(a) for a in axes)
    own = [o for o in replacing if o.kind == "within" and splits(o.over)]
    if operator.kind == "within" and operator.content["op"] in ("accumulate", "chunk") and splits(operator.over):
        raise Undecided("an exception at some of the microbatches or ranks of what communicates nothing")
    if operator.kind == "within" and splits(operator.over):
        same = [o for o in own if o.content["op"] == operator.content["op"] and o.over == operator.over
                and o.operands() == operator.operands()]
        if len(own) != 1 or len(same) != 1:
            raise Malformed("an exception leaves ranks of a collective waiting")
    elif own:
        raise Malformed("an exception has a collective in which not all ranks take part")
    if operator.kind in ("between", "move", "wait"):
        raise Undecided("an exception of communication between programs")
    if sum(o.kind == "within" for o in replacing) > 1:
        raise Undecided("several collectives in an exception")


def _sender(program, reference):
    name, _, tensor = reference.partition(":")
    other = program.plan.programs.get(name)
    if other is None:
        raise Malformed(f"no program {name!r}")
    return other, tensor


def _moved(program, operator):
    other, tensor = _sender(program, operator.content["in"])
    if other is program:
        raise Malformed("a program receives from itself")
    if tensor not in other.varies:
        return None
    operator.sender, operator.sent = other, tensor
    return other.varies[tensor] - set(program.fixed)


def _between(program, operator):
    participants = [_sender(program, reference) for reference in operator.content["in"]]
    names = [p.name for p, _ in participants]
    if program.name not in names or len(set(names)) < len(names):
        raise Malformed("participants of a collective between programs")
    if any(set(p.fixed) != set(program.fixed) for p, _ in participants):
        raise Malformed("participants fix different axes")
    operator.participants = participants
    operator.own_operand = participants[names.index(program.name)][1]
    _known(program, operator.own_operand)
    if any(tensor not in p.varies for p, tensor in participants):
        return None
    return set().union(*(p.varies[t] for p, t in participants))
