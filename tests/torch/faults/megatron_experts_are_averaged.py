"""Megatron's experts over ranks, with their gradients reduced like those of parameters that all ranks have: the gradients of
different experts are mixed."""
from megatron_gpt import start
from megatron_schedule import experts, stage, training

MESH = {"ep": 2}


def build(mesh, fault=True):
    start(mesh, expert_model_parallel_size=2)
    settings = experts(mesh, "alltoall")
    model = stage(settings, tied=False)
    if mesh is not None and fault:
        for name, each in model.named_parameters():
            if ".experts." in name:
                each.allreduce = True
    return training(settings, model, size=2 if mesh is None else 1)
