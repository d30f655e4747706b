"""Megatron-core's distributed optimizer: each rank updates its piece of the flat parameters."""
from megatron_gpt import batch_of_rank, config, gpt, start, training

MESH = {"dp": 2}


def build(mesh):
    start(mesh)
    settings = config()
    if mesh is None:
        return training(settings, gpt(settings))
    return training(settings, gpt(settings), data=batch_of_rank(),
                    use_distributed_optimizer=True)
