"""Ways to parallelize that the programs share: data parallelism in several forms, and channels over tensor parallel ranks."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded, reduced, shard
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from by_hand import Sums, SumsGradient, share

DP2, DP4, TP2, TP4, CP2, CP4, EP2, PP2 = ({axis: size} for axis, size in (
    ("dp", 2), ("dp", 4), ("tp", 2), ("tp", 4), ("cp", 2), ("cp", 4), ("ep", 2), ("pp", 2)))


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-2)


def named(data, domains, rank=0, ranks=1):
    """Inputs that are the rank's share of rows."""
    parts = {name: value if ranks == 1 else shard(value, 0, rank, ranks) for name, value in data.items()}
    return {name: bounded(value, *domains[name]) if name in domains else value for name, value in parts.items()}


def average_gradients(parameters, ranks, group=None, divide=True):
    """One flat all-reduce, as apex's DistributedDataParallel has it."""
    gradients = [each.grad for each in parameters if each.grad is not None]
    flat = torch.cat([each.reshape(-1) for each in gradients])
    dist.all_reduce(flat, group=group)
    if divide:
        flat /= ranks
    for each, own in zip(gradients, flat.split([each.numel() for each in gradients])):
        each.copy_(own.view_as(each))


def data_parallel(mesh, model, data, loss_of, how="ddp", optimizer=adamw, domains=None, clip=None, fault=None, reduce="avg"):
    """An iteration of a model whose batch is cut over the ranks; `loss_of(model, **data)` is the loss of a batch.

    `how`: "ddp", "accumulated" (DistributedDataParallel and two microbatches), "fsdp" (each child and the whole), "hand" (all_reduce
    after the backward pass), "each" (a hook of each parameter reduces). `fault`, by hand: "sum" (not divided, with SGD, which shows it), or
    "alone" (not reduced)."""
    ranks = 1 if mesh is None else mesh.size()
    rank = 0 if mesh is None else mesh.get_rank()
    data = {name: value.chunk(ranks)[rank].clone() for name, value in data.items()}
    inputs = named(data, domains or {}, rank, ranks)
    if mesh is not None and how in ("ddp", "accumulated"):
        model = DistributedDataParallel(model)
    elif mesh is not None and how == "fsdp":
        for child in model.children():
            if any(True for _ in child.parameters()):
                fully_shard(child, mesh=mesh)
        fully_shard(model, mesh=mesh)
    elif mesh is not None and how == "each":
        for each in model.parameters():
            each.register_post_accumulate_grad_hook(lambda each: dist.all_reduce(each.grad.div_(ranks)))
    steps = torch.optim.SGD(model.parameters(), lr=0.1) if fault == "sum" else optimizer(model.parameters())

    def step():
        model.zero_grad()
        if mesh is not None and how == "accumulated":
            first, second = ({name: value.chunk(2)[index] for name, value in data.items()} for index in (0, 1))
            with model.no_sync():
                early = loss_of(model, **first) / 2
                early.backward()
            late = loss_of(model, **second) / 2
            late.backward()
            loss = early.detach() + late.detach()
        else:
            loss = loss_of(model, **data)
            loss.backward()
        if mesh is not None and how == "hand" and fault != "alone":
            average_gradients(model.parameters(), ranks, divide=fault != "sum" and reduce == "avg")
        outputs = {"loss": loss.detach() if mesh is None else reduced(loss.detach(), reduce)}
        if clip is not None:
            found = clip(model.parameters())
            if found is not None:
                outputs["norm"] = found
        steps.step()
        return outputs

    return Training(step, model, steps, inputs)


def cut(module, dims, rank, ranks, prefix=""):
    """Cuts parameters and buffers of a module by name, and gives the parts that this rank then holds."""
    parts = {}
    for name, dim in dims.items():
        owner, _, word = name.rpartition(".")
        holder = module.get_submodule(owner)
        whole = getattr(holder, word)
        own = share(whole.shape, dim, rank, ranks)
        piece = own.of_whole(whole.detach()).clone()
        if word in holder._parameters:
            setattr(holder, word, nn.Parameter(piece))
            parts[prefix + name] = own
        else:
            holder._buffers[word] = piece
    return parts


def iteration(model, inputs, outputs_of, parts=None, optimizer=adamw, after=None):
    """zero_grad, `outputs_of` (which leaves gradients), `after` (synchronizes them), the optimizer."""
    steps = optimizer(model.parameters())

    def step():
        steps.zero_grad()
        outputs = outputs_of()
        if after is not None:
            after()
        steps.step()
        return outputs

    return Training(step, model, steps, inputs, placement=lambda name, value: (parts or {}).get(name))


class Channels(nn.Module):
    """Linear layers about a layer of channels: features in, channels, the layer, features out."""

    def __init__(self, middle, width=6, channels=8, out=None, first=False):
        super().__init__()
        self.up, self.middle, self.down = nn.Linear(width, channels), middle, nn.Linear(out or channels, width, bias=False)
        self.first, self.group = first, None

    def forward(self, x):
        x = self.up(x if self.group is None else SumsGradient.apply(x, self.group))
        x = self.middle(x.transpose(1, -1)).transpose(1, -1) if self.first else self.middle(x)
        x = self.down(x)
        return x if self.group is None else Sums.apply(x, self.group)


def over_channels(mesh, model, dims=None, shape=(4, 6), shrink=None, loss=None):
    """Tensor parallelism of `Channels`: `dims` says which parameters and buffers of the layer are cut, `shrink` tells it its share."""
    x, y = torch.randn(*shape), torch.randn(*shape)
    parts = {}
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("tp"), mesh.size()
        parts = cut(model, {"up.weight": 0, "up.bias": 0, "down.weight": 1, **{f"middle.{key}": dim for key, dim in (dims or {}).items()}},
                    rank, ranks)
        model.group = mesh.get_group("tp")
        if shrink is not None:
            shrink(model.middle, ranks)

    def outputs_of():
        result = (loss or nn.functional.mse_loss)(model(x), y)
        result.backward()
        return {"loss": result.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)
