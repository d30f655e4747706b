"""Megatron's 1F1B: two stages, four microbatches, one matrix for embedding and output layer."""
from megatron_gpt import start
from megatron_schedule import settings_of, stage, training

MESH = {"pp": 2}


def build(mesh):
    start(mesh, pipeline_model_parallel_size=2)
    settings = settings_of(mesh)
    return training(settings, stage(settings), count=4)
