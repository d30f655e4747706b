"""Megatron's mixture of experts, tokens sent to the ranks of their experts."""
from megatron_gpt import start
from megatron_schedule import experts, stage, training

MESH = {"ep": 2}


def build(mesh):
    start(mesh, expert_model_parallel_size=2)
    settings = experts(mesh, "alltoall")
    return training(settings, stage(settings, tied=False), size=2 if mesh is None else 1)
