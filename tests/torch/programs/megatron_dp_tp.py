"""Data and tensor parallelism of Megatron-core."""
from megatron_gpt import batch_of_rank, config, gpt, start, training

MESH = {"dp": 2, "tp": 2}


def build(mesh):
    start(mesh, tensor_model_parallel_size=2)
    settings = config(tensor_model_parallel_size=1 if mesh is None else 2)
    if mesh is None:
        return training(settings, gpt(settings))
    return training(settings, gpt(settings), data=batch_of_rank())
