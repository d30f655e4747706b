"""Data parallelism of Megatron-core, with gradients reduced in buckets during the backward pass."""
from megatron_gpt import batch_of_rank, config, gpt, start, training

MESH = {"dp": 2}


def build(mesh):
    start(mesh)
    settings = config()
    if mesh is None:
        return training(settings, gpt(settings))
    return training(settings, gpt(settings), data=batch_of_rank(),
                    overlap_grad_reduce=True, bucket_size=2000)
