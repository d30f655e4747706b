"""Runs a plan on values: every device of every program, in one of the orders that the plan allows.

Devices of one program run the same instances, so they go in step; programs run independently, one instance at a time,
in a random order. An operator whose result lies in memory that it reads writes element by element in a random order,
each computed from what the memory holds at that moment. A collective that was started reads and writes at some moment
up to its wait. What the documents call MALFORMED raises `Malformed`.
"""
import collectives
import schedules
from elementwise import ELEMENTWISE
from expressions import attribute
from memory import Memory
from model import as_list, operand_number
from tensors import Malformed, Tensor

# Of the collectives these may run in place.
SAFE_IN_PLACE = ("all_reduce", "accumulate", "broadcast", "reduce")


class Pending:
    """A started operator of which some part is still to be done."""

    def __init__(self, operator, microbatch):
        self.operator = operator
        self.microbatch = microbatch
        self.done = False


class Machine:
    def __init__(self, plan, logical, random):
        """`logical`: values of the logical tensors that nothing computes."""
        self.plan = plan
        self.random = random
        self.unspecified = collectives.Unspecified(random)
        self.memories = {name: Memory(program) for name, program in plan.programs.items()}
        self.events = {name: schedules.instances(program) for name, program in plan.programs.items()}
        self.position = dict.fromkeys(plan.programs, 0)
        self.pending = {name: {} for name in plan.programs}  # (handle, microbatch): Pending
        self.queues = {}  # (sender, receiver, channel): messages
        self.held = {name: [] for name in plan.programs}  # messages of a step that are sent after others of it
        self.receivers = {}  # (sender, tensor): [(receiver, operator)]
        self.meetings = {}  # (participants, microbatch): {program: {device: Tensor} or None until it is read}
        self.issued = {}  # participants: {program: order}
        self.doubts = set()  # for which MALFORMED is a right answer, too
        self.sent_inputs = {}  # copies of inputs, which may be received at any time
        self.wrong_order = None  # of messages, where the documents leave it open
        for program in plan.programs.values():
            self._fill(program, logical)
            for operator in program.operators:
                if operator.kind == "move":
                    self.receivers.setdefault((operator.sender.name, operator.sent), []).append((program, operator))

    def _fill(self, program, logical):
        memory = self.memories[program.name]
        everything = range(self.plan.microbatches)
        for name, relation in program.inputs.items():
            for m in everything if "microbatch" in program.varies[name] else [None]:
                for device in program.devices:
                    place = program.place(device, m or 0)
                    value = relation.slice_of(logical[relation.of], place)
                    memory.write(device, name, m, value)
                    self.sent_inputs[(program.name, device, name, m)] = value

    # Progress.

    def run(self):
        names = list(self.plan.programs)
        while True:
            self._complete_some()
            ready = [n for n in names if self.position[n] < len(self.events[n])]
            if not ready:
                break
            self.random.shuffle(ready)
            if not any(self._step(name) for name in ready):
                raise Malformed(f"wait cycle of {ready}")
        for orders in self.issued.values():
            if len({tuple(order) for order in orders.values()}) > 1:
                raise Malformed("collectives with the same participants are issued in different orders")

    def _step(self, name):
        """Runs the program's next instance; False if it has to wait."""
        program = self.plan.programs[name]
        operator, m, step = self.events[name][self.position[name]]
        if operator.kind == "wait":
            waited = [self.pending[name].get((h, self._of_handle(program, h, m))) for h in
                      as_list(operator.content["in"])]
            if None in waited:
                raise Malformed("a wait before its start")
            if not all([p.done or self._finish(program, p, True) for p in waited]):
                return False
            for pending in waited:
                self._land(program, pending)
        elif operator.handle is not None:
            self._start(program, operator, m)
        elif operator.kind == "move":
            if not self._earlier_arrived(program, operator, None) or not self._receive(program, operator, m):
                return False
        elif operator.kind == "between":
            self._issue(program, operator, m)
            if not self._meet(program, operator, m, True):
                return False
        else:
            self._run(program, operator, m)
        self.position[name] += 1
        return True

    def _run(self, program, operator, m, handle=None):
        if operator.kind == "within":
            self._run_within(program, operator, m, handle)
        else:
            for device in program.devices:
                self._run_local(program, operator, device, m)
        self._send(program, operator, m)

    def _of_handle(self, program, handle, m):
        return m if "microbatch" in program.handles[handle].axes else None

    # Started operators.

    def _start(self, program, operator, m):
        memory = self.memories[program.name]
        (result,) = operator.outputs
        program.varies.setdefault(result, operator.axes)
        memory.claim(result, m)
        read = [(n, k) for n in operator.operands() for k in self._read_by(program, operator, n, m)]
        for name, k in read:
            memory.read(program.devices[0], name, k)  # it is there
        for name, k in read + [(result, m)]:
            slot = memory.slot_name(name, k)
            if slot is not None:
                memory.in_flight.setdefault(slot, set()).add((operator.handle, m))
        own = memory.slot_name(result, m)
        if own not in [memory.slot_name(name, k) for name, k in read]:
            memory.forget(result, m)
        if operator.kind == "between":
            self._issue(program, operator, m)
        self.pending[program.name][(operator.handle, m)] = Pending(operator, m)

    def _read_by(self, program, operator, name, m):
        """The microbatches of which the instance reads a tensor; None for one that does not vary over them."""
        everything = list(range(self.plan.microbatches))
        read = [m]
        if m is None or "microbatch" in operator.over:
            read = everything
        if m is not None and operator.over == ["microbatch"]:
            read = collectives.sources(operator.content, self.plan.microbatches, m)
            there = self.memories[program.name].computed
            if operator.content["op"] == "permute" and any((name, k) not in there for k in everything):
                self.doubts.add("a collective over the microbatch, which reads all of them, before they are there")
        if "microbatch" in program.varies[name]:
            return read
        return [None] if read else []

    def _complete_some(self):
        for name, program in self.plan.programs.items():
            for pending in list(self.pending[name].values()):
                if not pending.done and self.random.random() < .3:
                    self._finish(program, pending, False)

    def _finish(self, program, pending, needed):
        """Does what a started operator does; False if it cannot yet."""
        operator, m = pending.operator, pending.microbatch
        if operator.kind == "move":
            done = self._earlier_arrived(program, operator, pending) and self._receive(program, operator, m)
        elif operator.kind == "between":
            done = self._meet(program, operator, m, needed)
        else:
            self._run(program, operator, m, (operator.handle, m))
            done = True
        pending.done = done
        return done

    def _earlier_arrived(self, program, operator, last):
        """Receives what was started before on the same channel, up to `last`; False if that is not there yet."""
        for earlier in self.pending[program.name].values():
            if earlier is last:
                break
            same = self._channel(earlier.operator) == self._channel(operator)
            if same and not earlier.done and not self._finish(program, earlier, True):
                return False
        return True

    def _channel(self, operator):
        return operator.kind == "move" and (operator.sender.name, operator.content.get("channel"))

    def _land(self, program, pending):
        """The wait: what was started is there, and what others receive of it is sent."""
        self._send(program, pending.operator, pending.microbatch, True)
        del self.pending[program.name][(pending.operator.handle, pending.microbatch)]
        for handles in self.memories[program.name].in_flight.values():
            handles.discard((pending.operator.handle, pending.microbatch))

    # Messages.

    def _send(self, program, operator, m, waited=False):
        """Copies of what was computed, to all that receive it; of what was started when it is waited for."""
        if operator.handle is not None and not waited:
            return
        memory = self.memories[program.name]
        for name in program.outputs_of(operator) if operator.kind != "wait" else []:
            instance = memory.instance(name, m)
            for receiver, move in self.receivers.get((program.name, name), []):
                copies = {d: memory.read(d, name, m) for d in program.devices}
                self.held[program.name].append((program.outputs_of(operator).index(name), receiver, move,
                                                (name, instance), copies))
        if not self._runs_again(program, operator):
            self._post(program)

    def _runs_again(self, program, operator):
        """Whether the step runs an operator with several results for a further microbatch: in a step for all
        microbatches each tensor is sent for all of them before the next tensor.
        """
        at, events = self.position[program.name], self.events[program.name]
        return (len(program.outputs_of(operator)) > 1 and events[at][0] is operator and at + 1 < len(events)
                and events[at + 1][0] is operator and events[at + 1][2] == events[at][2])

    def _post(self, program):
        for _, receiver, move, sent, copies in sorted(self.held[program.name], key=lambda message: message[0]):
            queue = self.queues.setdefault((program.name, receiver.name, move.content.get("channel")), [])
            queue.append((id(move), sent, copies))
        self.held[program.name] = []

    def _receive(self, program, operator, m):
        sender, memory = operator.sender, self.memories[program.name]
        if operator.sent in sender.inputs:
            if operator.sent in sender.buffers:
                self.doubts.add("when an input is sent that lies in a buffer")
            instance = self.memories[sender.name].instance(operator.sent, m)
            copies = {d: self.sent_inputs[(sender.name, d, operator.sent, instance)] for d in sender.devices}
        else:
            copies = self._next_message(program, operator, m)
            if copies is None:
                return False
        handle = (operator.handle, m) if operator.handle else None
        memory.claim(operator.outputs[0], m, handle)
        for device in program.devices:
            memory.write(device, operator.outputs[0], m, copies[self._counterpart(program, sender, device)])
        self._send(program, operator, m)
        return True

    def _next_message(self, program, operator, m):
        queue = self.queues.get((operator.sender.name, program.name, operator.content.get("channel")), [])
        for at, (move, sent, copies) in enumerate(queue):
            if (move, sent) == (id(operator), (operator.sent, m)):
                (first, (tensor, _), _) = queue[0]
                if at and (first == move or tensor != operator.sent):
                    raise Malformed("messages cross")
                if at:
                    self.wrong_order = "a tensor is received by two moves, for several microbatches"
                    self.doubts.add(self.wrong_order)
                del queue[at]
                return copies
        return None

    def _counterpart(self, program, sender, device):
        """The sending rank: the same coordinates, where the sender does not fix others."""
        return tuple(sender.fixed.get(axis, own) for axis, own in zip(self.plan.mesh, device))

    # Collectives between programs.

    def _meeting(self, operator, m):
        key = (tuple((p.name, t) for p, t in operator.participants), operator.content["op"])
        return self.meetings.setdefault((key, m), {}), key[0]

    def _issue(self, program, operator, m):
        meeting, participants = self._meeting(operator, m)
        if program.name not in meeting:
            meeting[program.name] = (operator, None)
            order = self.issued.setdefault(frozenset(n for n, _ in participants), {})
            order.setdefault(program.name, []).append((participants, m))

    def _meet(self, program, operator, m, needed):
        """Whether all have come; then the result is there."""
        meeting, participants = self._meeting(operator, m)
        if len(meeting) < len(participants):
            return False
        operators = [meeting[name][0] for name, _ in participants]
        keys = [{k: v for k, v in o.content.items() if k in ("op", "reduce", "split_dim", "concat_dim")
                 or (k == "dim" and o.content["op"] != "all_gather")} for o in operators]
        if any(key != keys[0] for key in keys):
            raise Malformed("participants of a collective disagree")
        for name, tensor in participants:
            if meeting[name][1] is None:
                memory = self.memories[name]
                meeting[name] = (meeting[name][0], {d: memory.read(d, tensor, m)
                                                    for d in self.plan.programs[name].devices})
        memory = self.memories[program.name]
        memory.claim(operator.outputs[0], m, (operator.handle, m) if operator.handle else None)
        own = memory.slot_name(operator.outputs[0], m)
        read = memory.slot_name(operator.own_operand, m)
        if own is not None and own == read and operator.content["op"] != "all_reduce":
            raise Malformed(f"{operator.content['op']} is not computed in place")
        rank = [name for name, _ in participants].index(program.name)
        for device in program.devices:
            tensors = [meeting[name][1][self._counterpart(program, self.plan.programs[name], device)]
                       for name, _ in participants]
            memory.write(device, operator.outputs[0], m,
                         collectives.result(operator.content, tensors, rank, self.unspecified))
        self._send(program, operator, m)
        return True

    # Collectives within a program.

    def _run_within(self, program, operator, m, handle):
        memory = self.memories[program.name]
        for name in operator.outputs:
            memory.claim(name, m, handle)
        results = self._within(program, operator, m)
        cells = {memory.slot_name(n, m) for n in operator.outputs} - {None}
        read = {memory.slot_name(n, k) for n in operator.operands() for k in self._read_by(program, operator, n, m)}
        if cells & read and operator.exceptions:
            raise Malformed("an operator with exceptions is not computed in place")
        if cells & read and operator.content["op"] not in SAFE_IN_PLACE:
            self._write_in_any_order(program, operator, m, results)
        for device, own in results.items():
            for name, value in own.items():
                memory.write(device, name, m, value)

    def _write_in_any_order(self, program, operator, m, results):
        """A collective that is not to run in place: ranks overwrite what others still read, if they do."""
        self.doubts.add(f"{operator.content['op']} in place")
        memory = self.memories[program.name]
        places = [(device, name, e) for device in program.devices for name, value in results[device].items()
                  for e in range(len(value.flat))]
        self.random.shuffle(places)
        for device, name, e in places:
            memory.poke(device, name, m, e, self._within(program, operator, m)[device][name].flat[e])
        for device, own in results.items():
            for name, value in own.items():
                elements = memory.slots[(device, *memory.slot_name(name, m))].elements
                own[name] = Tensor(value.shape, elements[:len(value.flat)], value.kind)

    def _within(self, program, operator, m):
        """{device: {output: value}}, from what memory holds now."""
        lists = {d: self._effective(program, operator, d, m) for d in program.devices}
        contexts = {d: {} for d in program.devices}
        collective = {}
        for device, own in lists.items():
            for inner in own:
                if inner.kind == "within":
                    collective[device] = inner
                    break
                self._evaluate(program, inner, device, m, contexts[device])
        for device, inner in collective.items():
            group, rank = self._group(program, inner, device, m)
            others = [collective.get(d) for d, _ in group]
            if None in others or not collectives.agreed([o.content for o in others]):
                raise Malformed("ranks of a collective disagree")
            (name,) = inner.operands()
            read = collectives.sources(inner.content, len(group), rank)
            tensors = [self._operand(program, contexts[d], d, name, k) if r in read else None
                       for r, (d, k) in enumerate(group)]
            own = contexts[device].get(name)
            form = (own.shape, own.kind) if own else self.memories[program.name].shapes.get(name)
            if form is None:
                raise Malformed(f"{name} is read before it is computed")
            contexts[device] = {**contexts[device], inner.outputs[0]: collectives.result(
                inner.content, tensors, rank, self.unspecified, form)}
        for device, own in lists.items():
            after = own[own.index(collective[device]) + 1:] if device in collective else []
            for inner in after:
                self._evaluate(program, inner, device, m, contexts[device])
        for device, own in lists.items():
            if any(n not in contexts[device] for n in operator.outputs):
                raise Malformed("an exception does not define what it replaces")
        return {d: {n: contexts[d][n] for n in operator.outputs} for d in program.devices}

    def _operand(self, program, context, device, name, m):
        return context[name] if name in context else self.memories[program.name].read(device, name, m)

    def _group(self, program, operator, device, m):
        """[(device, microbatch)] of the ranks, outermost axis first, and the position of this one."""
        place = program.place(device, m or 0)
        members = [dict(place)]
        for axis in operator.over:
            members = [{**member, axis: k} for member in members for k in range(self.plan.extent(axis))]
        members = [(tuple(member[a] for a in self.plan.mesh), member["microbatch"]) for member in members]
        rank = members.index((device, place["microbatch"]))
        return members, rank

    def _effective(self, program, operator, device, m):
        place = program.place(device, m or 0)
        for at, replacing in operator.exceptions:
            if all(place[axis] in own for axis, own in at.items()):
                return replacing
        return [operator]

    # Local operators.

    def _run_local(self, program, operator, device, m):
        memory = self.memories[program.name]
        outputs = program.outputs_of(operator)
        for name in outputs:
            memory.claim(name, m)
        results = self._local(program, operator, device, m)
        written = {memory.slot_name(n, m) for n in results} - {None}
        read = set()
        for inner in self._effective(program, operator, device, m):
            read |= {memory.slot_name(n, m) for n in inner.operands() if n in program.varies}
        if written & read:
            self._write_in_place(program, operator, device, m, results)
            for name, value in results.items():
                if memory.slot_name(name, m) is not None:
                    elements = memory.slots[(device, *memory.slot_name(name, m))].elements
                    results[name] = Tensor(value.shape, elements[:len(value.flat)], value.kind)
        for name, value in results.items():
            memory.write(device, name, m, value)

    def _write_in_place(self, program, operator, device, m, results):
        """Element by element, each from what memory holds then.

        A kernel with several results writes an element of all of them at once; a backward operator computes each
        gradient by itself.
        """
        if operator.exceptions:
            raise Malformed("an operator with exceptions is not computed in place")
        memory = self.memories[program.name]
        shared = {name: value for name, value in results.items() if memory.slot_name(name, m) is not None}
        for name in operator.operands():
            for own, value in shared.items():
                if memory.slot_name(name, m) == memory.slot_name(own, m) and memory.shapes[name][1] != value.kind:
                    raise Malformed("a result of another element type is written over an operand")
        if operator.kind == "backward" or operator.content["op"] not in ELEMENTWISE:
            self.doubts.add("in place, and not elementwise by its name")
        groups = [[name] for name in shared] if operator.kind == "backward" else [list(shared)]
        self.random.shuffle(groups)
        for names in groups:
            places = list(range(max(len(shared[name].flat) for name in names)))
            self.random.shuffle(places)
            for e in places:
                now = self._local(program, operator, device, m)
                for name in names:
                    if e < len(shared[name].flat):
                        memory.poke(device, name, m, e, now[name].flat[e])

    def _local(self, program, operator, device, m):
        context = {}
        for inner in self._effective(program, operator, device, m):
            self._evaluate(program, inner, device, m, context)
        outputs = program.outputs_of(operator)
        if operator.exceptions:
            regular = {}
            self._evaluate(program, operator, device, m, regular)
            context = {**regular, **context}
            if any(context[n].shape != regular[n].shape for n in outputs):
                raise Malformed("an exception changes a shape")
        return {name: context[name] for name in outputs}

    def _evaluate(self, program, operator, device, m, context):
        """Runs one local or backward operator; results go into `context`, the names of an exception."""
        def tensor(name):
            if name in context:
                return context[name]
            return self.memories[program.name].read(device, name, m)
        place = program.place(device, m or 0)
        if operator.kind == "backward":
            self._differentiate(program, operator, tensor, place, context)
            return
        content = operator.content
        operands = [tensor(n) if isinstance(n, str) else operand_number(n) for n in as_list(content.get("in"))]
        outputs = self.plan.operators.evaluate(content["op"], operands, _attributes(content, place))
        if len(operator.outputs) > len(outputs):
            raise Malformed("too many outputs")
        context.update(zip(operator.outputs, outputs))

    def _differentiate(self, program, operator, tensor, place, context):
        forward = operator.forward
        operands = [tensor(n) if isinstance(n, str) else operand_number(n) for n in operator.backward_operands]
        gradients = [tensor(name) for name in operator.gradient_names]
        if "in" in operator.content:
            for read, own in zip(operands, as_list(forward.content["in"])):
                form = self.memories[program.name].shapes.get(own) if isinstance(own, str) else None
                if form is not None and (read.shape, read.kind) != form:
                    raise Malformed("a backward operator reads another shape or type than the forward one")
        found = self.plan.operators.gradients(forward.content["op"], operands,
                                              _attributes(forward.content, place), gradients)
        for target, positions in operator.targets:
            parts = [found[k] for k in positions if found[k] is not None]
            if not parts or any(p.shape != parts[0].shape for p in parts):
                raise Malformed("a gradient of what is not real, or of different shapes")
            context[target] = Tensor(parts[0].shape, [sum(es) for es in zip(*(p.flat for p in parts))], parts[0].kind)


def _attributes(content, place):
    return {name: attribute(value, place) for name, value in content.get("attrs", {}).items()}
