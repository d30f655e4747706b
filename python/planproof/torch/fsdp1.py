"""Where parameters lie that FullyShardedDataParallel, the first FSDP, has cut: each is a piece of a flat parameter."""
from __future__ import annotations

from typing import Dict, Tuple

import torch
from torch.distributed.fsdp import FullyShardedDataParallel

from planproof.errors import RecordingError


def pieces(model: torch.nn.Module) -> Dict[int, Tuple[Tuple[int, ...], Tuple[int, int]]]:
    """Of parameters that are cut, by identity: the shape of the whole, and where in its elements this rank's piece begins and how long
    it is. RecordingError if a module shows flat parameters only."""
    found = {}
    for module in model.modules():
        handle = getattr(module, "_handle", None) if isinstance(module, FullyShardedDataParallel) else None
        if handle is None or not handle.uses_sharded_strategy:
            continue
        if not handle._use_orig_params:
            raise RecordingError("FullyShardedDataParallel shows no parameters but flat ones, which have no names: say use_orig_params=True")
        flat = handle.flat_param
        for parameter, shape, info in zip(flat._params, flat._shapes, flat._shard_param_infos):
            piece = (int(info.intra_param_start_idx), int(info.numel_in_shard)) if info.in_shard else (0, 0)
            found[id(parameter)] = tuple(map(int, shape)), piece
    return found
