"""Value facts: sums and single elements of parameters, gradients and the optimizers' states, at the moments of a step."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy
import torch

from planproof.torch.monitoring.device_sums import DeviceSums, Fetched
from planproof.torch.monitoring.holdings import Entry, Holdings
from planproof.torch.monitoring.journal import ONE_NUMBER, Columns, Elements, Moment, Pending
from planproof.torch.monitoring.steps import Steps
from planproof.torch.monitoring.sums import HostSums, Slot, Sums
from planproof.torch.relations import local
from planproof.torch.sketches import fnv1a64, splitmix64

PARAMETER, GRADIENT, CONTRIBUTION = "parameter", "gradient", "contribution"


def gradient_of(entry: Entry) -> Optional[torch.Tensor]:
    """What this rank holds of a parameter's gradient; None if there is none, or if it lies otherwise than the parameter."""
    found = getattr(entry.object, "main_grad", None)
    found = entry.object.grad if found is None else found
    if found is None or found.is_sparse:
        return None
    if getattr(found, "placements", None) != getattr(entry.object, "placements", None):
        return None
    own = local(found)
    return own if own.shape == entry.held().shape else None


class Facts:
    """Takes value facts of a table's tensors."""

    def __init__(self, steps: Steps, holdings: Holdings, table: int) -> None:
        self.steps = steps
        self.sums = HostSums(holdings.bytes_of_parameters())
        self._on_device = DeviceSums(holdings.bytes_of_parameters())
        self.renew(holdings, table)

    def renew(self, holdings: Holdings, table: int) -> None:
        """The models have changed."""
        self.holdings, self.table = holdings, table
        self._latest: Dict[str, Dict[int, Tuple[numpy.ndarray, float, numpy.ndarray]]] = {}
        self._places: Dict[int, Tuple[int, Tuple[int, ...], int]] = {}
        self._step_of_places = -1
        self.sums.forget()
        self._on_device.forget()

    def parameters(self, moment: Moment, numbers: Sequence[int]) -> None:
        self.take(moment, PARAMETER, [(number, self.holdings.entries[number].held()) for number in numbers])

    def gradients(self, moment: Moment, numbers: Sequence[int]) -> None:
        self.take(moment, GRADIENT, self.held_gradients(numbers))

    def held_gradients(self, numbers: Iterable[int]) -> List[Tuple[int, torch.Tensor]]:
        found = ((number, gradient_of(self.holdings.entries[number])) for number in numbers)
        return [(number, gradient) for number, gradient in found if gradient is not None]

    def states(self, moment: Moment, optimizer: Any, numbers: Sequence[int], elements: bool = True) -> None:
        """Of all states of an optimizer: sums, and one element of each tensor."""
        tensors, scalars = self._states_of(optimizer, numbers)
        for word, held in tensors.items():
            self.take(moment, word, held)
        if elements:
            self._take_elements(moment, tensors, scalars)

    def _states_of(self, optimizer: Any, numbers: Sequence[int]) \
            -> Tuple[Dict[str, List[Tuple[int, torch.Tensor]]], Dict[str, List[Tuple[int, Any]]]]:
        tensors: Dict[str, List[Tuple[int, torch.Tensor]]] = {}
        scalars: Dict[str, List[Tuple[int, Any]]] = {}
        state = getattr(optimizer, "state", {})
        for number in numbers:
            entry = self.holdings.entries[number]
            content = state.get(entry.object) if isinstance(state, Mapping) else None
            held = entry.held()
            for word, value in content.items() if isinstance(content, Mapping) else ():
                if isinstance(value, torch.Tensor):
                    own = local(value)
                    if own.shape == held.shape and (own.dim() or word != "step"):
                        tensors.setdefault(word, []).append((number, own))
                    elif own.numel() == 1:
                        scalars.setdefault(word, []).append((number, own))
                elif isinstance(value, (int, float)) and not isinstance(value, bool):
                    scalars.setdefault(word, []).append((number, value))
        return tensors, scalars

    def elements(self, moment: Moment, numbers: Sequence[int]) -> None:
        """Single elements of parameters, and before the step of gradients."""
        tensors = {PARAMETER: [(number, self.holdings.entries[number].held()) for number in numbers]}
        if moment == Moment.BEFORE:
            tensors[GRADIENT] = self.held_gradients(numbers)
        self._take_elements(moment, tensors, {})

    def take(self, moment: Moment, word: str, held: Sequence[Tuple[int, torch.Tensor]]) -> None:
        """Sums of a set, in the host's memory at once, on a device later."""
        there = [(number, tensor) for number, tensor in held if tensor.device.type != "cpu"]
        if there:
            self._take_on_device(moment, word, there)
            held = [(number, tensor) for number, tensor in held if tensor.device.type == "cpu"]
        if not held:
            return
        numbers = [number for number, _ in held]
        found = self.sums.measure(self._slots(numbers), [tensor for _, tensor in held], self._known(word, numbers))
        latest = self._latest.setdefault(word, {})
        for at, number in enumerate(numbers):
            latest[number] = found.fingerprints[at], found.norms[at], found.sketches[:, at]
        self._add(moment, word, numbers, found)

    def keep_sums(self, moment: Moment, word: str, number: int, tensor: torch.Tensor) -> None:
        """Sums of one tensor, which are those of no set that is taken again."""
        if tensor.device.type != "cpu":
            self._take_on_device(moment, word, [(number, tensor)])
        else:
            self._add(moment, word, [number], self.sums.measure(self._slots([number]), [tensor]))

    def fingerprint(self, slots: Sequence[Slot], tensors: Sequence[torch.Tensor]) -> int:
        """The sum of the fingerprints of tensors, at once: what asks for it waits for the device anyway."""
        if all(tensor.device.type == "cpu" for tensor in tensors):
            found: Optional[Sums] = self.sums.measure(slots, tensors)
        else:
            found = self._on_device.measure(slots, tensors)(True)
        return 0 if found is None else sum(int(each) for each in found.fingerprints) % (1 << 64)

    def _take_on_device(self, moment: Moment, word: str, held: Sequence[Tuple[int, torch.Tensor]]) -> None:
        numbers = [number for number, _ in held]
        pending = self._on_device.measure(self._slots(numbers), [tensor for _, tensor in held])
        self._add(moment, word, numbers, None, pending)

    def _add(self, moment: Moment, word: str, numbers: Sequence[int], sums: Optional[Sums], pending: Optional[Pending] = None) -> None:
        self.steps.facts.append(Columns(self.steps.number, moment, self.table, word, numbers, sums, pending))

    def _slots(self, numbers: Sequence[int]) -> List[Slot]:
        return [self.holdings.entries[number].slot for number in numbers]

    def _known(self, word: str, numbers: Sequence[int]) -> Optional[Sums]:
        """What was found last of these tensors. One that was not taken before has the fingerprint 0, whose sums are zero as well."""
        latest = self._latest.get(word)
        if not latest:
            return None
        known = Sums.zeros(len(numbers))
        for at, number in enumerate(numbers):
            if number in latest:
                known.fingerprints[at], known.norms[at], known.sketches[:, at] = latest[number]
        return known

    def _take_elements(self, moment: Moment, tensors: Mapping[str, Sequence[Tuple[int, torch.Tensor]]],
                       scalars: Mapping[str, Sequence[Tuple[int, Any]]]) -> None:
        for word in [*tensors, *(each for each in scalars if each not in tensors)]:
            found = Elements(self.steps.number, moment, self.table, word)
            values: List[Any] = []
            for number, tensor in tensors.get(word, ()):
                if not tensor.is_complex():
                    index, position = self._place(number, tensor)
                    found.tensors.append(number)
                    found.positions.append(position)
                    values.append(tensor.detach()[index])
            for number, value in scalars.get(word, ()):
                found.tensors.append(number)
                found.positions.append(ONE_NUMBER)
                values.append(value)
            if found.tensors:
                found.pending = _fetched(values)
                found.resolve(False)
                self.steps.facts.append(found)

    def _place(self, number: int, tensor: torch.Tensor) -> Tuple[Tuple[int, ...], int]:
        """The element of a tensor that is taken in this step: index here, and row-major position in the whole."""
        if self._step_of_places != self.steps.number:
            self._step_of_places, self._places = self.steps.number, {}
        if number not in self._places:
            entry = self.holdings.entries[number]
            with numpy.errstate(over="ignore"):
                hashed = splitmix64(numpy.array([fnv1a64(entry.name)], numpy.uint64) + numpy.uint64(self.steps.number))
            at = int(hashed[0]) % tensor.numel()
            index = tuple(int(each) for each in numpy.unravel_index(at, tensor.shape)) if tensor.dim() else ()
            self._places[number] = at, index, _position(entry, at)
        _, index, position = self._places[number]
        return index, position


def _fetched(values: Sequence[Any]) -> Pending:
    """These numbers: those on a device come together, later."""
    here = [None if isinstance(each, torch.Tensor) and each.device.type != "cpu" else float(each) for each in values]
    there = [each.to(torch.float64).reshape(()) for each, number in zip(values, here) if number is None]
    fetched = Fetched(torch.stack(there)) if there else None

    def numbers(wait: bool) -> Optional[List[float]]:
        if fetched is None:
            return here  # type: ignore[return-value]
        if not wait and not fetched.ready():
            return None
        arrived = iter(fetched.numbers().tolist())
        return [next(arrived) if number is None else number for number in here]
    return numbers


def _position(entry: Entry, at: int) -> int:
    """The row-major position in the whole of an element of what is held."""
    if entry.part.flat is not None:
        return entry.part.flat[0] + at
    place = entry.part.place if entry.part.place is not None else [[[0, size]] for size in entry.part.of]
    inner = numpy.unravel_index(at, entry.part.shape()) if entry.part.of else ()
    position = 0
    for size, segments, index in zip(entry.part.of, place, inner):
        position = position * size + _index_of(segments, int(index))
    return position


def _index_of(segments: Sequence[Sequence[int]], at: int) -> int:
    """The index in the whole of an index along a dimension of the part."""
    for start, length in segments:
        if at < length:
            return int(start) + at
        at -= length
    raise IndexError("beyond the part")
