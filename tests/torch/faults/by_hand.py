"""What programs share that communicate by hand: gradients over groups, parts of parameters, an iteration."""
import torch
import torch.distributed as dist
from planproof.torch import Training
from planproof.torch.relations import Part


class SumsGradient(torch.autograd.Function):
    """The identity; gradients are summed over the group (before a layer that is cut by columns)."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class Sums(torch.autograd.Function):
    """The sum over the group, with the identity as its gradient (after a layer that is cut by rows)."""

    @staticmethod
    def forward(ctx, x, group):
        del ctx
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Gathers(torch.autograd.Function):
    """The ranks' parts one after another along a dimension; the gradient is summed, and its part taken."""

    @staticmethod
    def forward(ctx, x, dim, group):
        ctx.dim, ctx.group = dim, group
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.group)
        ranks, rank = dist.get_world_size(ctx.group), dist.get_rank(ctx.group)
        return gradient.chunk(ranks, ctx.dim)[rank].clone(), None, None


def rows(of, dim, indices):
    """The part of a tensor that has these [start, length] along a dimension."""
    return Part(tuple(of), [indices if d == dim else [[0, size]] for d, size in enumerate(of)])


def share(of, dim, rank, ranks):
    """An equal share along a dimension."""
    size = of[dim] // ranks
    return rows(of, dim, [[rank * size, size]])


def cut(parameter, part):
    """A parameter that is the part of this one."""
    return torch.nn.Parameter(part.of_whole(parameter.detach()).clone())


def training(model, inputs, step_of, parts=None):
    """AdamW after `step_of`, which gives the outputs and leaves gradients; `parts`: of parameters that are cut, by name."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        outputs = step_of()
        optimizer.step()
        return outputs

    return Training(step, model, optimizer, inputs, placement=lambda name, value: (parts or {}).get(name))
