"""Steps of pipeline schedules."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence, Union

#: `"F0:3"`, `"F0:0..4"`, `"update"`, or what `loop` gives.
Step = Union[str, Dict[str, Any]]


def loop(variable: str, start: Union[int, str], stop: Union[int, str],
         do: Sequence[Step]) -> Step:
    """The steps for variable = start, ..., stop - 1. Bounds may be expressions."""
    return {"for": variable, "from": start, "to": stop, "do": list(do)}


def gpipe(microbatches: int) -> List[Step]:
    """All forward passes (phase F0), then all backward passes (B0)."""
    return [f"F0:0..{microbatches}", f"B0:0..{microbatches}"]


def one_f_one_b(stage: int, stages: int, microbatches: int) -> List[Step]:
    """The order 1F1B of one stage: forward passes to fill the pipeline, then a forward and a
    backward pass in turn, then the backward passes that remain."""
    ahead = min(microbatches, stages - stage - 1)
    steps: List[Step] = [f"F0:0..{ahead}"] if ahead else []
    steps.append(loop("i", 0, microbatches - ahead, [f"F0:i+{ahead}" if ahead else "F0:i",
                                                     "B0:i"]))
    return steps + ([f"B0:{microbatches - ahead}..{microbatches}"] if ahead else [])
