"""DeepSpeed's engine with ZeRO stage 1."""
from zero import training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, 1)
