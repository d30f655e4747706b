"""Ring attention in the six forms in which public code merges what a block of keys gives with what earlier blocks gave."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch import nn
from torch.nn import functional

from .catalog import PROGRAMS, program
from .patterns import CP2, CP4, average_gradients, iteration


class Passes(torch.autograd.Function):
    """What the rank before has; gradients travel the other way."""

    @staticmethod
    def forward(ctx, x):
        return turned(x, 1)

    @staticmethod
    def backward(ctx, gradient):
        return turned(gradient, -1)


def turned(x, step):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    got, x = torch.empty_like(x), x.contiguous()
    for each in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (rank + step) % ranks), dist.P2POp(dist.irecv, got, (rank - step) % ranks)]):
        each.wait()
    return got


def by_sigmoid(out, lse, block, block_lse):
    """zhuzilin/ring-flash-attention."""
    return out - torch.sigmoid(block_lse - lse) * (out - block), lse - functional.logsigmoid(lse - block_lse)


def by_log_sigmoid(out, lse, block, block_lse):
    weight = functional.logsigmoid(lse - block_lse)
    return torch.exp(weight) * out + torch.exp(functional.logsigmoid(block_lse - lse)) * block, lse - weight


def by_softplus(out, lse, block, block_lse):
    new = lse + functional.softplus(block_lse - lse)
    return torch.exp(lse - new) * out + torch.exp(block_lse - new) * block, new


def by_log1p(out, lse, block, block_lse):
    """log(1 + exp)."""
    new = lse + torch.log(1 + torch.exp(block_lse - lse))
    return torch.exp(lse - new) * out + torch.exp(block_lse - new) * block, new


def by_sum_of_exponentials(out, lse, block, block_lse):
    """log(exp a + exp b)."""
    new = torch.log(torch.exp(lse) + torch.exp(block_lse))
    return (torch.exp(lse) * out + torch.exp(block_lse) * block) / (torch.exp(lse) + torch.exp(block_lse)), new


def scores_of(q, k, turn, fault):
    """With the fault those of blocks that were received are not scaled."""
    scores = q @ k.transpose(-2, -1)
    return scores if fault == "scales" and turn else scores * q.shape[-1] ** -0.5


def block_of(scores, v):
    lse = torch.logsumexp(scores, -1, keepdim=True)
    return torch.exp(scores - lse) @ v, lse


def merged(q, k, v, form, fault):
    """Attention to the keys of all ranks, block by block."""
    ranks = dist.get_world_size()
    out = lse = None
    for turn in range(ranks - (fault == "skips")):
        block, block_lse = block_of(scores_of(q, k, turn, fault), v)
        if out is None:
            out, lse = block, block_lse
        elif fault == "exchanges":
            out, lse = form(block, lse, out, block_lse)
        elif fault == "averages":
            out, lse = (out + block) / 2, torch.logaddexp(lse, block_lse)
        elif fault == "keeps":
            out, lse = form(out, lse, block, block_lse)[0], lse
        else:
            out, lse = form(out, lse, block, block_lse)
        if turn + 1 < ranks:
            k, v = Passes.apply(torch.stack([k, v])).unbind()
    return out


def by_running_maximum(q, k, v, _, fault):
    """Flash attention's: sums are rescaled when a block has a larger score, and divided at the end. With a fault the output is not."""
    ranks = dist.get_world_size()
    largest = torch.full((*q.shape[:-1], 1), float("-inf"))
    total, out = torch.zeros_like(largest), torch.zeros_like(q)
    for turn in range(ranks - (fault == "skips")):
        scores = scores_of(q, k, turn, fault)
        now = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, scale = torch.exp(scores - now), torch.exp(largest - now)
        total = total * scale + weights.sum(-1, keepdim=True)
        out = out * (1 if fault in ("rescale", "exchanges") else scale) + weights @ v
        largest = now
        if turn + 1 < ranks:
            k, v = Passes.apply(torch.stack([k, v])).unbind()
    return out / total


@program(CP2, "ring_sigmoid_cp2", form=by_sigmoid)
@program(CP2, "ring_log_sigmoid_cp2", form=by_log_sigmoid)
@program(CP2, "ring_softplus_cp2", form=by_softplus)
@program(CP2, "ring_log1p_cp2", form=by_log1p)
@program(CP4, "ring_sum_of_exponentials_cp4", form=by_sum_of_exponentials)
@program(CP2, "ring_running_maximum_cp2", way=by_running_maximum)
@program(CP2, "ring_sigmoid_wide_cp2", form=by_sigmoid, length=20, width=6)
@program(CP2, "ring_averages_blocks_cp2_fault", right=False, form=by_softplus, fault="averages")
@program(CP4, "ring_keeps_the_first_normalizer_cp4_fault", right=False, form=by_sigmoid, fault="keeps")
@program(CP2, "ring_running_maximum_not_rescaled_cp2_fault", right=False, way=by_running_maximum, fault="rescale")
def ring(mesh, form=None, way=merged, fault=None, length=8, width=4):
    """Attention over a sequence that is cut, forward and backward."""
    model = nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in ("q", "k", "v", "out")})
    x, y = torch.randn(1, length, width), torch.randn(1, length, width)
    inputs, ranks = {"x": x, "y": y}, 1
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks, 1)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 1, rank, ranks), "y": shard(y, 1, rank, ranks)}

    def outputs_of():
        q, k, v = (model[name](x) for name in "qkv")
        if mesh is None:
            scores = q @ k.transpose(-2, -1) * width ** -0.5
            found = scores.softmax(-1) @ v
        else:
            found = way(q, k, v, form, fault)
        loss = functional.mse_loss(model["out"](found), y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return iteration(model, inputs, outputs_of, after=mesh and (lambda: average_gradients(model.parameters(), ranks)))


#: Each form with the weights of two blocks exchanged (of the running maximum: the output not rescaled), the last block left out, and
#: the scores of received blocks not scaled.
for name, how in (("sigmoid", dict(form=by_sigmoid)), ("log_sigmoid", dict(form=by_log_sigmoid)), ("softplus", dict(form=by_softplus)),
                  ("log1p", dict(form=by_log1p)), ("sum_of_exponentials", dict(form=by_sum_of_exponentials)),
                  ("running_maximum", dict(way=by_running_maximum))):
    for fault in ("exchanges", "skips", "scales"):
        program(CP2, f"ring_{name}_{fault}_cp2_fault", right=False, fault=fault, **how)(ring)
    if f"ring_{name}_cp2" not in PROGRAMS:
        program(CP2, f"ring_{name}_cp2", **how)(ring)
    if f"ring_{name}_cp4" not in PROGRAMS:
        program(CP4, f"ring_{name}_cp4", **how)(ring)
