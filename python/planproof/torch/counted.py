"""Collectives counted: by c10d itself, and as they were recorded.

A collective whose result nobody reads, or that gathers the same values again, does not show in any value. So that none is
missing from a log, c10d's own sequence numbers are compared with what the recorder saw, and a replay counts what it ran."""
from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import torch.distributed as dist

from planproof.errors import RecordingError

Ranks = Tuple[int, ...]


class Calls:
    """Calls of collectives while a step runs, by the ranks of their group."""

    def __init__(self) -> None:
        self._begin = _sequence_numbers()
        self._seen: Counter[Ranks] = Counter()

    def saw(self, ranks: Sequence[int], calls: int = 1) -> None:
        """Calls that the recorder saw, or made itself."""
        self._seen[tuple(ranks)] += calls

    def check(self) -> None:
        """Raises RecordingError if c10d ran another number of collectives of a group than were seen. Groups
        whose backend does not count, and those that ended meanwhile, are left out."""
        ran: Counter[Ranks] = Counter()
        for name, (ranks, number) in _sequence_numbers().items():
            ran[ranks] += number - self._begin.get(name, (ranks, 0))[1]
        for ranks, count in ran.items():
            if count not in (0, self._seen[ranks]):
                raise RecordingError(f"{count} collectives of the group of ranks {list(ranks)} were run, and "
                                     f"{self._seen[ranks]} passed through PyTorch's dispatcher, so the recording is not "
                                     "complete: call them by torch.distributed")


def _sequence_numbers() -> Dict[str, Tuple[Ranks, int]]:
    """For each group of this process, by name: its ranks, and how many collectives it has run."""
    if not dist.is_initialized():
        return {}
    numbers = {}
    for group in list(dist.distributed_c10d._world.pg_map):
        try:
            number = group._get_sequence_number_for_group()
        except (RuntimeError, NotImplementedError):
            continue  # a backend that does not count
        numbers[group.group_name] = tuple(dist.get_process_group_ranks(group)), number
    return numbers


def in_log(trace: Mapping[str, Any]) -> List[int]:
    """How many entries of a trace belong to each of its groups."""
    counts = [0] * len(trace["groups"])
    for entry in trace["operators"]:
        if "collective" in entry:
            counts[entry["group"]] += 1
    return counts
