"""Megatron's mixture of experts, tokens sent to the ranks of their experts: attention is cut over two ranks, experts are
whole, one on each of four ranks."""
from megatron_gpt import start
from megatron_schedule import experts, stage, training

MESH = {"dp": 2, "tp": 2}


def build(mesh):
    start(mesh, expert_model_parallel_size=4, tensor_model_parallel_size=2,
          expert_tensor_parallel_size=1)
    settings = experts(mesh, "alltoall", **({} if mesh is None else dict(expert_tensor_parallel_size=1)))
    return training(settings, stage(settings, tied=False, salt="15"), size=4 if mesh is None else 2)
