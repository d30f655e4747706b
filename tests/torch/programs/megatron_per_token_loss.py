"""Megatron's mean over the tokens that count, of which the data parallel ranks have 13 and 6. Which ones count is constant."""
import torch

from megatron_gpt import LENGTH, start
from megatron_schedule import settings_of, stage, training

from megatron.core import parallel_state

MESH = {"dp": 2}


def build(mesh):
    start(mesh)
    settings = settings_of(mesh, calculate_per_token_loss=True)
    counted = torch.ones(4, LENGTH)
    counted[0, 5:] = counted[1, 2:] = counted[3, 4:] = 0.0
    if mesh is None:
        return training(settings, stage(settings), size=4, mask=counted)
    own = counted.chunk(2)[parallel_state.get_data_parallel_rank()].clone()
    return training(settings, stage(settings), size=2, mask=own)
