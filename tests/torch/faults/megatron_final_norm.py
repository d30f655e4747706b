"""Megatron with sequence parallelism, where the last norm is not marked as one over sequence parts: its gradient is not
summed over the ranks (Megatron-LM issue 1446)."""
from megatron_gpt import config, gpt, start, training

MESH = {"tp": 2}


def build(mesh, fault=True):
    start(mesh, tensor_model_parallel_size=2)
    settings = config(tensor_model_parallel_size=1 if mesh is None else 2, sequence_parallel=mesh is not None)
    model = gpt(settings)
    if mesh is not None and fault:
        for each in model.decoder.final_layernorm.parameters():
            each.sequence_parallel = False
    return training(settings, model)
