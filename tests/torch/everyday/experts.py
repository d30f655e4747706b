"""Mixtures of experts: routers that choose one, or a few of some groups, and experts that are spread over ranks."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import Sums, SumsGradient

from .catalog import program
from .patterns import DP2, EP2, TP2, average_gradients, cut, data_parallel, iteration


class Routed(nn.Module):
    """Experts of one matrix each, all computed for all tokens and weighted by what the router chose."""

    def __init__(self, choose, experts=4, width=6):
        super().__init__()
        self.router, self.experts, self.choose = nn.Linear(width, experts, bias=False), nn.Parameter(torch.randn(experts, width, width)), choose

    def forward(self, x):
        return torch.einsum("...e,...eo->...o", self.choose(self.router(x)), functional.gelu(torch.einsum("...i,eio->...eo", x, self.experts)))


def top_one(logits):
    """Switch: the largest probability."""
    weights = logits.softmax(-1)
    best, index = weights.max(-1, keepdim=True)
    return torch.zeros_like(weights).scatter(-1, index, best)


def top_two(logits):
    """Mixtral: softmax of the two largest."""
    best, index = logits.topk(2, -1)
    return torch.zeros_like(logits).scatter(-1, index, best.softmax(-1))


def of_groups(logits):
    """DeepSeek-V3: the better of two groups by the sum of its two best, and two of its experts by sigmoid."""
    scores = logits.sigmoid()
    groups = scores.unflatten(-1, (2, -1)).topk(2, -1).values.sum(-1)
    mask = torch.zeros_like(groups).scatter(-1, groups.topk(1, -1).indices, 1.0)
    kept = scores.masked_fill(mask.unsqueeze(-1).expand(*mask.shape, 2).flatten(-2) == 0, 0.0)
    index = kept.topk(2, -1).indices
    best = scores.gather(-1, index)
    return torch.zeros_like(scores).scatter(-1, index, best / (best.sum(-1, keepdim=True) + 1e-20))


def softly(logits):
    """All experts, weighted."""
    return logits.softmax(-1)


@program(DP2, "moe_top_one_ddp", how="ddp", choose=top_one)
@program(DP2, "moe_groups_fsdp", how="fsdp", choose=of_groups)
@program(DP2, "moe_soft_hand_fault", right=False, how="hand", choose=softly, fault="sum")
def chosen(mesh, how, choose, fault=None):
    return data_parallel(mesh, Routed(choose), {"x": torch.randn(8, 6), "y": torch.randn(8, 6)},
                         lambda model, x, y: functional.mse_loss(x + model(x), y), how, fault=fault)


@program(EP2, "moe_top_two_experts_of_ranks")
@program(EP2, "moe_top_one_experts_of_ranks", choose=top_one)
@program(EP2, "moe_router_gradient_of_own_experts_fault", right=False, fault=True)
def of_ranks(mesh, choose=top_two, fault=False):
    """All ranks have all tokens, and each its own experts; what experts give is added. With the fault the router's gradient is
    that of the rank's own experts."""
    model, x, y = Routed(choose), torch.randn(4, 6), torch.randn(4, 6)
    parts = cut(model, {"experts": 0}, mesh.get_rank(), mesh.size()) if mesh is not None else {}

    def outputs_of():
        weights = choose(model.router(x))
        if mesh is not None:
            weights = weights if fault else SumsGradient.apply(weights, mesh.get_group())
            weights = weights.chunk(mesh.size(), -1)[mesh.get_rank()]
        out = torch.einsum("ne,neo->no", weights, functional.gelu(torch.einsum("ni,eio->neo", x, model.experts)))
        loss = functional.mse_loss(out if mesh is None else Sums.apply(out, mesh.get_group()), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)


class AllToAll(torch.autograd.Function):
    """Equal pieces of the first dimension to each rank."""

    @staticmethod
    def forward(ctx, x):
        found = torch.empty_like(x)
        dist.all_to_all_single(found, x.contiguous())
        return found

    @staticmethod
    def backward(ctx, gradient):
        found = torch.empty_like(gradient)
        dist.all_to_all_single(found, gradient.contiguous())
        return found


@program(EP2, "moe_slots_all_to_all")
def slots(mesh):
    """Soft MoE: each expert has two slots, which are mixtures of a rank's tokens and are sent to the expert's rank."""
    model = nn.ParameterDict({"route": nn.Parameter(torch.randn(6, 4, 2)), "experts": nn.Parameter(torch.randn(4, 6, 6))})
    x, y = torch.randn(2, 4, 6), torch.randn(2, 4, 6)
    inputs, parts, ranks = {"x": x, "y": y}, {}, 1
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
        parts = cut(model, {"experts": 0}, rank, ranks)

    def outputs_of():
        logits = torch.einsum("bti,ies->btes", x, model["route"])
        mixed = torch.einsum("btes,bti->ebsi", logits.softmax(1), x)
        if mesh is not None:
            mixed = AllToAll.apply(mixed).unflatten(0, (ranks, -1)).transpose(0, 1).flatten(1, 2)
        done = torch.einsum("eni,eio->eno", mixed.flatten(1, 2) if mesh is None else mixed.flatten(1, -2), model["experts"])
        done = done.unflatten(1, (-1, 2))
        if mesh is not None:
            done = AllToAll.apply(done.unflatten(1, (ranks, -1)).transpose(0, 1).flatten(0, 1))
        out = torch.einsum("btes,ebso->bto", logits.flatten(2).softmax(-1).view_as(logits), done)
        loss = functional.mse_loss(out, y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    def after():
        average_gradients([model["route"]], ranks)
        model["experts"].grad /= ranks

    return iteration(model, inputs, outputs_of, parts, after=mesh and after)


@program(TP2, "moe_experts_cut_in_width_tp")
def in_width(mesh):
    """Each expert is an MLP whose hidden features are cut."""
    model = nn.ParameterDict({"router": nn.Parameter(torch.randn(6, 4)), "up": nn.Parameter(torch.randn(4, 6, 8)),
                              "down": nn.Parameter(torch.randn(4, 8, 6))})
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    parts = cut(model, {"up": 2, "down": 1}, mesh.get_rank(), mesh.size()) if mesh is not None else {}

    def outputs_of():
        weights = top_two(x @ model["router"])
        h = functional.silu(torch.einsum("ni,eih->neh", x, model["up"]))
        each = torch.einsum("neh,eho->neo", h, model["down"])
        each = each if mesh is None else Sums.apply(each, mesh.get_group())
        loss = functional.mse_loss(torch.einsum("ne,neo->no", weights, each), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)
