"""Megatron's 1F1B over tensor and sequence parallelism: two stages of two ranks, two microbatches."""
from megatron_gpt import start
from megatron_schedule import settings_of, stage, training

MESH = {"pp": 2, "tp": 2}


def build(mesh):
    start(mesh, pipeline_model_parallel_size=2, tensor_model_parallel_size=2)
    settings = settings_of(mesh)
    return training(settings, stage(settings), count=2)
