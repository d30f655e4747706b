"""DeepSpeed's ZeRO stage 3 with gradients clipped by their global norm and two microbatches."""
from zero import training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, 3, clip=0.5, accumulated=2)
