"""Collectives by their definition, among ranks of one process: what a replay needs of communication."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from planproof.errors import RecordingError
from planproof.torch.collectives import reduction

Tensors = List[torch.Tensor]


@dataclass
class Posted:
    """What a rank has posted, and what it gets."""

    rank: int
    entry: Dict[str, Any]
    inputs: Tensors
    outputs: Tensors
    received: Optional[Tensors] = None  # flat, one for each of `outputs`

    def deliver(self) -> None:
        """Writes the outputs."""
        for target, content in zip(self.outputs, self.received or []):
            if target.numel() != content.numel():
                raise RecordingError(f"{self.entry['op']} on rank {self.rank} gives "
                                     f"{content.numel()} elements for {target.numel()}")
            target.copy_(content.view(target.shape))


Key = Tuple[Any, ...]


@dataclass
class Meetings:
    """Where posted collectives wait for those of the other ranks: the n-th of a group belong
    together, sends and receives by sender, receiver, tag and order."""

    posted: Dict[Key, List[Posted]] = field(default_factory=dict)
    counts: Dict[Key, int] = field(default_factory=dict)

    def post(self, posted: Posted, group: Sequence[int]) -> None:
        """A rank arrives; the last one completes the exchange for all."""
        lane = lane_of(posted.entry, posted.rank, group)
        turn = self.counts.get((lane, posted.rank), 0)
        self.counts[(lane, posted.rank)] = turn + 1
        present = self.posted.setdefault((lane, turn), [])
        present.append(posted)
        order = list(lane[:2] if lane[-1] == "peers" else group)
        if len(present) == len(order):
            present.sort(key=lambda each: order.index(each.rank))
            _complete(present, order)
            del self.posted[(lane, turn)]


def lane_of(entry: Dict[str, Any], rank: int, group: Sequence[int]) -> Key:
    """Collectives of one lane meet in their order: those of a group, or messages between two ranks
    with one tag."""
    kind = entry["collective"]
    if kind not in ("send", "recv"):
        return (*group, "group")
    ends = (rank, entry["peer"]) if kind == "send" else (entry["peer"], rank)
    return (*ends, entry.get("tag", 0), "peers")


def _flat(tensors: Tensors) -> torch.Tensor:
    return torch.cat([each.reshape(-1) for each in tensors]) if tensors else torch.empty(0)


def _complete(ranks: List[Posted], order: List[int]) -> None:
    kinds = {each.entry["collective"] for each in ranks}
    if kinds == {"send", "recv"}:
        sender, receiver = ranks
        sender.received, receiver.received = [], [_flat(sender.inputs)]
        return
    if len(kinds) > 1:
        raise RecordingError(f"ranks {order} meet with different collectives: {sorted(kinds)}")
    for position, each in enumerate(ranks):
        each.received = _results(kinds.copy().pop(), ranks, position, order)


def _results(kind: str, ranks: List[Posted], position: int, order: List[int]) -> Tensors:
    mine = ranks[position]
    if kind == "barrier":
        return []
    if kind in ("all_reduce", "reduce", "reduce_scatter"):
        return _reduced(kind, ranks, position) if mine.outputs else []
    if kind == "all_gather":
        pieces = [_flat(each.inputs) for each in ranks]
        return pieces if len(mine.outputs) > 1 else [torch.cat(pieces)]
    if kind == "all_to_all":
        pieces = [_pieces(each, len(ranks))[position] for each in ranks]
        return pieces if len(mine.outputs) > 1 else [torch.cat(pieces)]
    root = ranks[order.index(mine.entry["root"])]
    if kind == "broadcast":
        return [_flat(root.inputs)] if mine.outputs else []
    if kind == "gather":
        return [_flat(each.inputs) for each in ranks] if mine.outputs else []
    if kind == "scatter":
        return [root.inputs[position].reshape(-1)]
    raise RecordingError(f"no collective {kind}")


def _reduced(kind: str, ranks: List[Posted], position: int) -> Tensors:
    parts = [_flat(each.inputs) for each in ranks]
    if len({part.numel() for part in parts}) > 1:
        raise RecordingError(f"{kind} of tensors of different sizes")
    total = reduction(parts, ranks[position].entry["reduce"])
    return [total.chunk(len(ranks))[position]] if kind == "reduce_scatter" else [total]


def _pieces(sender: Posted, count: int) -> Tensors:
    """What a rank sends to each of the others in an all-to-all."""
    if len(sender.inputs) > 1:
        return [each.reshape(-1) for each in sender.inputs]
    whole = sender.inputs[0]
    splits = sender.entry.get("in_splits")
    if not splits:
        return list(whole.reshape(-1).chunk(count))
    return [piece.reshape(-1) for piece in whole.split(splits)]
