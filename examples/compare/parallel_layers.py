"""Layers as Megatron cuts them: tensor parallelism with sequence parallelism over one group of ranks.

Activations are [sequence, batch, hidden]. Between blocks a rank holds its part of the sequence; within a
block it holds all of it and its part of the heads, or of the hidden dimension. Without a group a layer is whole.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


def _size(group):
    return 1 if group is None else dist.get_world_size(group)


def _rank(group):
    return 0 if group is None else dist.get_rank(group)


def _all_gather(x, dim, group):
    parts = [torch.empty_like(x) for _ in range(_size(group))]
    dist.all_gather(parts, x.contiguous(), group=group)
    return torch.cat(parts, dim)


def _reduce_scatter(x, dim, group):
    x = x.contiguous().clone()
    dist.all_reduce(x, group=group)
    return x.chunk(_size(group), dim)[_rank(group)].contiguous()


class _GatherSequence(torch.autograd.Function):
    """The parts of the sequence joined; gradients are terms, which are added up."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _all_gather(x, 0, group)

    @staticmethod
    def backward(ctx, gradient):
        return _reduce_scatter(gradient, 0, ctx.group), None


class _ScatterSequence(torch.autograd.Function):
    """Terms added up, and the own part of the sequence."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _reduce_scatter(x, 0, group)

    @staticmethod
    def backward(ctx, gradient):
        return _all_gather(gradient, 0, ctx.group), None


class _GatherVocabulary(torch.autograd.Function):
    """The parts of the logits joined; every rank computes the same loss of them."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _all_gather(x, -1, group)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.chunk(_size(ctx.group), -1)[_rank(ctx.group)].contiguous(), None


def gather_sequence(x, group):
    return x if group is None else _GatherSequence.apply(x, group)


def scatter_sequence(x, group):
    return x if group is None else _ScatterSequence.apply(x, group)


def gather_vocabulary(x, group):
    return x if group is None else _GatherVocabulary.apply(x, group)


def part_of(whole, dim, group, blocks=1):
    """This rank's part of a parameter, the same on all ranks; of each of the blocks, if there are some."""
    parts = [block.chunk(_size(group), dim)[_rank(group)] for block in whole.chunk(blocks, dim)]
    return nn.Parameter(torch.cat(parts, dim).clone())


class VocabularyEmbedding(nn.Module):
    """Each rank has some rows of the table; ids of other rows give zeros."""

    def __init__(self, vocabulary, hidden, group, bug):
        super().__init__()
        self.group, self.bug = group, bug
        self.weight = part_of(torch.randn(vocabulary, hidden), 0, group)

    def forward(self, ids):
        rows = self.weight.shape[0]
        local = ids - rows * _rank(self.group)
        foreign = (local < 0) | (local >= rows)
        if self.bug == "TT1" and self.group is not None:
            foreign = ~foreign
        out = functional.embedding(local.clamp(0, rows - 1), self.weight)
        return scatter_sequence(out.masked_fill(foreign[..., None], 0), self.group)


class ColumnLinear(nn.Module):
    """All of the sequence, a part of the outputs."""

    def __init__(self, inputs, outputs, group, blocks=1):
        super().__init__()
        self.group = group
        self.weight = part_of(torch.randn(outputs, inputs) * inputs**-0.5, 0, group, blocks)
        self.bias = part_of(torch.randn(outputs) * 0.1, 0, group, blocks)

    def forward(self, x):
        return functional.linear(gather_sequence(x, self.group), self.weight, self.bias)


class RowLinear(nn.Module):
    """A part of the inputs, a part of the sequence of the result. The bias is added once, to that part."""

    def __init__(self, inputs, outputs, group, reduce_group):
        super().__init__()
        self.group = reduce_group
        self.weight = part_of(torch.randn(outputs, inputs) * inputs**-0.5, 1, group)
        self.bias = nn.Parameter(torch.randn(outputs) * 0.1)

    def forward(self, x):
        return scatter_sequence(functional.linear(x, self.weight), self.group) + self.bias


class Attention(nn.Module):
    """Causal, with a part of the heads. The rows of qkv are those of queries, keys and values, in blocks."""

    def __init__(self, hidden, heads, group, reduce_group):
        super().__init__()
        self.heads = heads // _size(group)
        self.qkv = ColumnLinear(hidden, 3 * hidden, group, blocks=3)
        self.projection = RowLinear(hidden, hidden, group, reduce_group)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3) for each in self.qkv(x).chunk(3, -1))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(out.permute(2, 0, 1, 3).flatten(2))


class Experts(nn.Module):
    """All experts on every token, weighed by the router; each rank has a part of every expert's hidden units."""

    def __init__(self, hidden, inner, experts, group):
        super().__init__()
        self.group = group
        self.up = part_of(torch.randn(experts, inner, hidden) * hidden**-0.5, 1, group)
        self.down = part_of(torch.randn(experts, hidden, inner) * inner**-0.5, 2, group)

    def forward(self, x, weights):
        x, weights = gather_sequence(x, self.group), gather_sequence(weights, self.group)
        inner = functional.gelu(torch.einsum("sbh,eih->sbei", x, self.up))
        return scatter_sequence(torch.einsum("sbei,ehi,sbe->sbh", inner, self.down, weights), self.group)


class Layer(nn.Module):
    def __init__(self, hidden, heads, inner, experts, group, reduce_group):
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, heads, group, reduce_group)
        self.expert_norm = nn.LayerNorm(hidden)
        self.router = nn.Linear(hidden, experts, bias=False)
        self.experts = Experts(hidden, inner, experts, group)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        y = self.expert_norm(x)
        return x + self.experts(y, self.router(y).softmax(-1))


class Model(nn.Module):
    """A small language model; `group` are the ranks of tensor parallelism, None for one process."""

    def __init__(self, group=None, bug=None, reduce_group=None, vocabulary=64, hidden=32, heads=4, inner=64, experts=4,
                 layers=2):
        super().__init__()
        self.group = group
        reduce_group = group if reduce_group is None else reduce_group
        self.embedding = VocabularyEmbedding(vocabulary, hidden, group, bug)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner, experts, group, reduce_group) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.output = ColumnLinear(hidden, vocabulary, group)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return gather_vocabulary(self.output(self.norm(x)), self.group)

    def of_sequence_parts(self):
        """Parameters that every rank of the group has whole, and of which it sees a part of the sequence."""
        for name, parameter in self.named_parameters():
            if "norm" in name or "router" in name or name.endswith("projection.bias"):
                yield name, parameter
