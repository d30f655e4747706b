"""DeepSpeed's Ulysses: the sequence over two ranks, and within attention the heads instead; ZeRO stage 1."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded, reduced, shard
from planproof.torch.shims import deepspeed as shim
from torch import nn

from models import VOCABULARY, text
from transformer import Transformer, loss_of
from zero import engine_of, reference

from deepspeed.sequence.layer import DistributedAttention

MESH = {"sp": 2}


class LocalAttention(nn.Module):
    """Causal attention of the heads of this rank: batch, sequence, head, width."""

    def forward(self, q, k, v):
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        length = q.shape[-2]
        mask = torch.full((length, length), float("-inf")).triu(1)
        scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5 + mask
        return torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)


class UlyssesAttention(nn.Module):
    """The projections of an attention, with this rank's part of the sequence."""

    def __init__(self, whole):
        super().__init__()
        self.head = whole.head
        self.q, self.k, self.v, self.o = whole.q, whole.k, whole.v, whole.o
        self.core = DistributedAttention(LocalAttention(), dist.group.WORLD, scatter_idx=2, gather_idx=1)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, self.head)) for layer in (self.q, self.k, self.v))
        return self.o(self.core(q, k, v, 0).flatten(-2))


def build(mesh):
    model = Transformer()
    if mesh is None:
        return reference(model, 0.0, 2)
    rank = mesh.get_local_rank("sp")
    for layer in model.layers:
        layer.attention = UlyssesAttention(layer.attention)
    parts = [each.chunk(2, 1)[rank].contiguous() for each in text(2)]
    tokens, labels = parts
    engine = engine_of(model, 1, size=2)

    def step():
        loss = loss_of(engine(tokens), labels)
        engine.backward(loss)
        engine.step()
        gradients = {f"gradient of {name}": value for name, value in held.gradients().items()}
        return {"loss": reduced(loss, "avg"), **gradients}

    held = shim.Held(engine)
    inputs = {name: bounded(shard(value, 1, rank, 2), 0, VOCABULARY)
              for name, value in zip(("tokens", "labels"), parts)}
    return Training(step, held.model, held, inputs, placement=held.model.placement)
