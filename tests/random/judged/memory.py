"""What the devices of one program hold: a tensor of its own in a cell of its own, tensors of one buffer in the
buffer's slots.
"""
from tensors import Malformed, Tensor


class Slot:
    """Memory of a buffer: elements, and which instance was written last as a whole."""

    def __init__(self):
        self.elements = []
        self.holds = None  # (tensor, microbatch, shape, element type)


class Memory:
    def __init__(self, program):
        self.program = program
        self.cells = {}  # (device, tensor, microbatch or None): Tensor
        self.slots = {}  # (device, buffer, slot): Slot
        self.shapes = {}  # tensor: (shape, element type)
        self.in_flight = {}  # (buffer, slot): handles that read or write it
        self.computed = set()  # (tensor, microbatch or None)

    def instance(self, tensor, microbatch):
        return microbatch if "microbatch" in self.program.varies[tensor] else None

    def slot_name(self, tensor, microbatch):
        """(buffer, slot) of an instance; None if it has memory of its own."""
        if tensor not in self.program.buffers:
            return None
        buffer, slots = self.program.buffers[tensor]
        microbatch = self.instance(tensor, microbatch)
        return buffer, 0 if microbatch is None else microbatch % slots

    def read(self, device, tensor, microbatch):
        m = self.instance(tensor, microbatch)
        if (tensor, m) not in self.computed:
            raise Malformed(f"{self.program.name}: {tensor} of microbatch {m} is read before it is computed")
        name = self.slot_name(tensor, microbatch)
        if name is None:
            return self.cells[(device, tensor, m)]
        slot = self.slots.get((device, *name), Slot())
        if slot.holds is None or slot.holds[:2] != (tensor, m):
            raise Malformed(f"{self.program.name}: {tensor} of microbatch {m} is read after it is overwritten")
        _, _, shape, kind = slot.holds
        return Tensor(shape, slot.elements[:_size(shape)], kind)

    def claim(self, tensor, microbatch, handle=None):
        """An operator begins to write the instance; `handle`: it was started with it."""
        name = self.slot_name(tensor, microbatch)
        if name is not None and self.in_flight.get(name, set()) - {handle}:
            raise Malformed(f"{self.program.name}: a buffer in flight is written")

    def write(self, device, tensor, microbatch, value):
        m = self.instance(tensor, microbatch)
        form = (value.shape, value.kind)
        if self.shapes.setdefault(tensor, form) != form:
            raise Malformed(f"{self.program.name}: {tensor} has several shapes")
        name = self.slot_name(tensor, microbatch)
        if name is None:
            self.cells[(device, tensor, m)] = value
        else:
            slot = self.slots.setdefault((device, *name), Slot())
            slot.elements[:len(value.flat)] = value.flat
            slot.holds = (tensor, m, *form)
        self.computed.add((tensor, m))

    def poke(self, device, tensor, microbatch, at, value):
        """Writes one element of an instance whose operator is under way."""
        slot = self.slots.setdefault((device, *self.slot_name(tensor, microbatch)), Slot())
        slot.elements += [0] * (at + 1 - len(slot.elements))
        slot.elements[at] = value

    def forget(self, tensor, microbatch):
        """The slot of a result that is on its way holds nothing."""
        name = self.slot_name(tensor, microbatch)
        if name is not None:
            for device in self.program.devices:
                self.slots.setdefault((device, *name), Slot()).holds = None


def _size(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total
