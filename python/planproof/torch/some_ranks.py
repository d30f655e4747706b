"""Some ranks of a larger job, each recorded in a process that runs without the others.

A rank's program is recorded as in the job: it knows the job's size, its own coordinates and its groups. What it receives
is made up (torch's fake process group, which takes all ranks to hold what this one does), so values mean nothing, and
only which operators run with which arguments is recorded. `planproof verify --extend` adds the other ranks."""
from __future__ import annotations

from typing import Any, List, Mapping, Sequence

import torch.distributed as dist

from planproof.errors import RecordingError

NOTE = ("ranks were recorded without the others: what the program received from them was made up, and is taken to decide "
        "nothing but numbers of named tensors")


def join_without_others(rank: int, world: int) -> None:
    """Starts communication as this rank of a job of which no other rank runs."""
    from torch.testing._internal.distributed.fake_pg import FakeProcessGroup, FakeStore
    options = FakeProcessGroup.Options()
    options.simulate_uniform_ranks = True  # DistributedDataParallel asks futures for results
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore(),
                            pg_options=options)
    # A group of another backend, as Megatron makes of gloo, would wait for its other ranks.
    plain = dist.new_group

    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any,
                  **kwargs: Any) -> Any:
        return plain(ranks, timeout, None, *args, **kwargs)

    dist.new_group = dist.distributed_c10d.new_group = new_group


def checked(ranks: Sequence[int], world: int) -> List[int]:
    """The ranks in order. Raises RecordingError if they are not different ranks of the job."""
    found = sorted(set(ranks))
    if len(found) < len(ranks) or not found or found[0] < 0 or found[-1] >= world:
        raise RecordingError(f"ranks {', '.join(map(str, ranks))}: different ranks of a job of {world} are "
                             "expected")
    return found


def axes_to_extend(axes: Mapping[str, int], ranks: Sequence[int]) -> List[str]:
    """The axes of the mesh along which not all coordinates are recorded, as `--extend` takes them."""
    missing: List[str] = []
    stride = 1
    for name, size in reversed(list(axes.items())):
        if len({rank // stride % size for rank in ranks}) < size:
            missing.insert(0, f"{name}={size}")
        stride *= size
    return missing
