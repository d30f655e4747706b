"""DeepSpeed's engine with ZeRO stage 2."""
from zero import training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, 2)
