"""Sixteen ranks of Megatron: two pipeline stages, data parallelism and tensor parallelism of two, the experts of a mixture
over two ranks, two microbatches."""
from megatron_gpt import start
from megatron_schedule import experts, stage, training

MESH = {"pp": 2, "dp": 4, "tp": 2}


def build(mesh):
    start(mesh, pipeline_model_parallel_size=2, tensor_model_parallel_size=2,
          expert_model_parallel_size=2)
    settings = experts(mesh, "allgather")
    return training(settings, stage(settings, tied=False), count=2, size=4 if mesh is None else 1)
