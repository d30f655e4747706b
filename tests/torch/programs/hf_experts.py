"""The experts of one layer of Mixtral, with their gradients, split by `tp_plan="auto"`."""
import torch
from planproof.torch import Training
from transformers import MixtralConfig

from hub import SIZES, tensor_parallel

MESH = {"tp": 2}


def build(mesh):
    training = tensor_parallel(MixtralConfig(num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
                                             **{**SIZES, "num_hidden_layers": 1}), mesh)
    experts = training.model.model.layers[0].mlp
    generator = torch.Generator().manual_seed(3)
    tokens, gradient = (torch.randn(2, 8, 16, generator=generator) for _ in range(2))

    def step():
        experts.zero_grad()
        result = experts(tokens)
        (result * gradient).sum().backward()
        return {"result": result}

    return Training(step, training.model, None, {"tokens": tokens, "gradient": gradient})
