"""DeepSpeed's ZeRO stage 2 with gradients clipped by their global norm; four ranks cut parameters anywhere."""
from zero import training

MESH = {"dp": 4}


def build(mesh):
    return training(mesh, 2, clip=0.5, ranks=4)
