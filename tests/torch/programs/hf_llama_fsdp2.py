"""Llama of transformers with FSDP2: each layer, and the rest."""
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig

from hub import SIZES, causal_model, training
from transformer import batch_of

MESH = {"dp": 2}


def build(mesh):
    model = causal_model(LlamaConfig(**SIZES))
    if mesh is not None:
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(model, batch_of(mesh, "dp"), average=mesh is not None)
