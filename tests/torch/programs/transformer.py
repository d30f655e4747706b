"""What the programs of the tiny transformer share: data, loss, iteration, plans of tensor parallelism."""
import torch
from planproof.torch import Training, bounded, reduced, shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput,
                                               RowwiseParallel, SequenceParallel,
                                               parallelize_module)
from torch.nn import functional

from models import VOCABULARY, Transformer, text


def loss_of(logits, labels):
    return functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))


def tensor_parallel(model, mesh):
    """Heads and hidden features over the mesh; activations between the blocks are whole."""
    for layer in model.layers:
        parallelize_module(layer, mesh, {
            "attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(),
            "attention.v": ColwiseParallel(), "attention.o": RowwiseParallel(),
            "mlp.gate": ColwiseParallel(), "mlp.up": ColwiseParallel(),
            "mlp.down": RowwiseParallel()})
    parallelize_module(model, mesh, {"head": ColwiseParallel(output_layouts=Replicate())})


def sequence_parallel(model, mesh, head=None):
    """The same, with activations between the blocks cut along the sequence."""
    whole = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    for layer in model.layers:
        parallelize_module(layer, mesh, {
            "norm1": SequenceParallel(), "norm2": SequenceParallel(),
            "attention": whole, "mlp": whole,
            "attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(),
            "attention.v": ColwiseParallel(),
            "attention.o": RowwiseParallel(output_layouts=Shard(1)),
            "mlp.gate": ColwiseParallel(), "mlp.up": ColwiseParallel(),
            "mlp.down": RowwiseParallel(output_layouts=Shard(1))})
    parallelize_module(model, mesh, {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": head or ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})


def batch_of(mesh, axis, size=2):
    """Tokens and labels of this rank: its part of the batch along `axis`, and their names."""
    tokens, labels = text(size)
    if mesh is None or axis is None:
        return tokens, labels, {"tokens": bounded(tokens, 0, VOCABULARY),
                                "labels": bounded(labels, 0, VOCABULARY)}
    ranks = mesh.size()
    rank = mesh.get_local_rank()
    tokens, labels = (each.chunk(ranks)[rank].clone() for each in (tokens, labels))
    return tokens, labels, {"tokens": bounded(shard(tokens, 0, rank, ranks), 0, VOCABULARY),
                            "labels": bounded(shard(labels, 0, rank, ranks), 0, VOCABULARY)}


def training(model, data=None, average=False, clip=None, loss=loss_of):
    """An iteration with AdamW. `average`: the loss of the whole batch is the ranks' mean."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, labels, inputs = data or batch_of(None, None)

    def step():
        optimizer.zero_grad()
        result = loss(model(tokens), labels)
        result.backward()
        outputs = {"loss": reduced(result, "avg") if average else result}
        if clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            outputs["norm"] = norm.full_tensor() if isinstance(norm, DTensor) else norm
        optimizer.step()
        return outputs

    return Training(step, model, optimizer, inputs)


__all__ = ["Transformer", "batch_of", "loss_of", "sequence_parallel", "tensor_parallel", "training"]
