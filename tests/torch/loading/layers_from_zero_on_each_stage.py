"""A stage asks the checkpoint for its layers by their numbers within the stage."""
import torch

from checkpoint import checkpoint
from pipeline import staged, whole
from stages import Stage
from transformer import Transformer

MESH = {"pp": 2}


def build(mesh, fault=True):
    model = Transformer()
    saved = checkpoint(model)
    if mesh is None:
        model.load_state_dict(saved)
        return whole(model)
    stage = mesh.get_rank()
    model = Stage(model, stage)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(saved[name.replace("layers.1.", "layers.0.") if fault else name])
    return staged(model, stage, 2)
