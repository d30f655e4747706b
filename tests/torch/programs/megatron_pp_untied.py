"""Megatron's 1F1B: two stages, three microbatches, an output layer of its own."""
from megatron_gpt import start
from megatron_schedule import settings_of, stage, training

MESH = {"pp": 2}


def build(mesh):
    start(mesh, pipeline_model_parallel_size=2)
    settings = settings_of(mesh)
    return training(settings, stage(settings, tied=False), count=3)
