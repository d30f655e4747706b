"""The experts of one layer of Mixtral, with their gradients: every rank has tokens of its own."""
import torch
import torch.distributed as dist
from planproof.torch import Training, shard
from torch.distributed.tensor import DTensor, Shard
from transformers import MixtralConfig

from hub import SIZES, causal_model

MESH = {"dp": 2}


def build(mesh):
    model = causal_model(MixtralConfig(num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
                                       **{**SIZES, "num_hidden_layers": 1}))
    experts = model.model.layers[0].mlp
    generator = torch.Generator().manual_seed(3)
    tokens, gradient = (torch.randn(2, 8, 16, generator=generator) for _ in range(2))
    inputs = {"tokens": tokens, "gradient": gradient}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        tokens, gradient = (each.chunk(ranks)[rank].clone() for each in (tokens, gradient))
        inputs = {"tokens": shard(tokens, 0, rank, ranks), "gradient": shard(gradient, 0, rank, ranks)}

    def step():
        experts.zero_grad()
        result = experts(tokens)
        (result * gradient).sum().backward()
        if mesh is None:
            return {"result": result}
        for parameter in experts.parameters():
            dist.all_reduce(parameter.grad)
        return {"result": DTensor.from_local(result.detach(), mesh, [Shard(0)])}

    return Training(step, experts, None, inputs)
