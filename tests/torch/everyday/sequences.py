"""Layers of sequences: attention, positions, recurrent cells, causal convolution, dropout."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import Gathers, Sums, SumsGradient

from .catalog import program
from .patterns import CP2, DP2, TP2, average_gradients, cut, data_parallel, iteration


class Attention(nn.Module):
    """Attention by SDPA with fewer key heads than query heads."""

    def __init__(self, heads=4, key_heads=2, width=8, head=4):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, heads * head), nn.Linear(width, key_heads * head), nn.Linear(width, key_heads * head)
        self.o, self.head, self.group = nn.Linear(heads * head, width, bias=False), head, None

    def forward(self, x, mask=None, causal=True, bias=None):
        x = x if self.group is None else SumsGradient.apply(x, self.group)
        q, k, v = (layer(x).unflatten(-1, (-1, self.head)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mask = bias if bias is not None else mask
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and mask is None,
                                                      enable_gqa=q.shape[1] != k.shape[1])
        out = self.o(out.transpose(1, 2).flatten(2))
        return out if self.group is None else Sums.apply(out, self.group)

    def shard(self, mesh, turned=False):
        """Heads over ranks. `turned`: the ranks take one another's key heads."""
        self.group = mesh.get_group()
        rank, ranks = mesh.get_rank(), mesh.size()
        parts = cut(self, {"q.weight": 0, "q.bias": 0, "v.weight": 0, "v.bias": 0, "o.weight": 1}, rank, ranks)
        parts.update(cut(self, {"k.weight": 0, "k.bias": 0}, ranks - 1 - rank if turned else rank, ranks))
        return parts


@program(TP2, "attention_grouped_heads_tp")
@program(TP2, "attention_grouped_heads_bool_mask_tp", masked=True)
@program(TP2, "attention_turned_key_heads_tp_fault", right=False, fault=True)
def grouped(mesh, masked=False, fault=False):
    """Heads over ranks. With the fault ranks take one another's key heads."""
    model = Attention()
    x, y = torch.randn(2, 6, 8), torch.randn(2, 6, 8)
    mask = torch.rand(6, 6).lt(0.5) | torch.eye(6, dtype=torch.bool) if masked else None
    parts = model.shard(mesh, fault) if mesh is not None else {}

    def outputs_of():
        loss = functional.mse_loss(model(x, mask), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)


@program(DP2, "attention_padding_mask_fsdp", how="fsdp")
@program(DP2, "attention_padding_mask_hand_fault", right=False, how="hand", fault="alone")
def padded(mesh, how, fault=None):
    """The mask is an input: which tokens are no padding."""
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.head = Attention(), nn.Linear(8, 3)

        def forward(self, x, kept):
            return self.head(self.attention(x, kept[:, None, None, :]))

    kept = torch.ones(4, 5, dtype=torch.bool)
    kept[1, 3:] = kept[3, 2:] = False
    return data_parallel(mesh, Padded(), {"x": torch.randn(4, 5, 8), "kept": kept, "y": torch.randn(4, 5, 3)},
                         lambda model, x, kept, y: functional.mse_loss(model(x, kept), y), how, fault=fault)


def buckets_of(length, buckets=8, distance=16):
    """T5's buckets of relative positions (bidirectional)."""
    positions = torch.arange(length)
    relative = positions[None, :] - positions[:, None]
    half = buckets // 2
    found = (relative > 0).long() * half
    relative = relative.abs()
    exact = half // 2
    large = exact + (torch.log(relative.float().clamp(min=1) / exact) / torch.log(torch.tensor(distance / exact)) * (half - exact)).long()
    return found + torch.where(relative < exact, relative, large.clamp(max=half - 1))


@program(TP2, "t5_relative_positions_tp")
@program(TP2, "t5_relative_positions_of_other_heads_tp_fault", right=False, fault=True)
def relative(mesh, fault=False):
    """A learned bias for each head and bucket; heads over ranks. With the fault each rank takes the first heads' biases."""
    model = nn.ModuleDict({"attention": Attention(4, 4), "bias": nn.Embedding(8, 4)})
    x, y = torch.randn(2, 6, 8), torch.randn(2, 6, 8)
    parts, rank, ranks = {}, 0, 1
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        parts = {f"attention.{name}": value for name, value in model["attention"].shard(mesh).items()}

    def outputs_of():
        weight = model["bias"].weight
        weight = weight if mesh is None else SumsGradient.apply(weight, mesh.get_group())
        heads = 4 // ranks
        start = 0 if fault else rank * heads
        bias = functional.embedding(buckets_of(6), weight).permute(2, 0, 1)[None, start:start + heads]
        loss = functional.mse_loss(model["attention"](x, bias=bias), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)


@program(DP2, "opt_position_ids_ddp")
def opt_positions(mesh):
    """Positions are counted over the tokens that are no padding."""
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(10, 6), nn.Linear(6, 3)

        def forward(self, x, kept):
            positions = (kept.cumsum(1) * kept - 1).long() + 2
            return self.head(x + self.table(positions))

    kept = torch.ones(4, 5, dtype=torch.int64)
    kept[:, 4] = 0
    model = Positions()
    ranks = 1 if mesh is None else mesh.size()
    mine = kept[: 4 // ranks].clone()  # the same on each rank: a constant
    return data_parallel(mesh, model, {"x": torch.randn(4, 5, 6), "y": torch.randn(4, 5, 3)},
                         lambda model, x, y: functional.mse_loss(model(x, mine), y))


def sinusoids(length, width, start=0):
    positions = torch.arange(start, start + length)[:, None].to(torch.get_default_dtype())
    angles = positions / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


@program(CP2, "sinusoidal_positions_cp")
@program(CP2, "sinusoidal_positions_begin_at_zero_cp_fault", right=False, fault=True)
def sequence_parts(mesh, fault=False):
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))
    x, y = torch.randn(2, 8, 6), torch.randn(2, 8, 6)
    inputs, start = {"x": x, "y": y}, 0
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks, 1)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 1, rank, ranks), "y": shard(y, 1, rank, ranks)}
        start = 0 if fault else rank * x.shape[1]

    def outputs_of():
        loss = functional.mse_loss(model(x + sinusoids(x.shape[1], 6, start)), y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return iteration(model, inputs, outputs_of, after=mesh and (lambda: average_gradients(model.parameters(), mesh.size())))


class TakesFromBefore(torch.autograd.Function):
    """The last positions of the rank before, zeros on the first one."""

    @staticmethod
    def forward(ctx, x, count, rank, ranks):
        ctx.count, ctx.rank, ctx.ranks = count, rank, ranks
        tail = x[..., -count:].contiguous()
        got = torch.zeros_like(tail)
        waits = [dist.isend(tail, rank + 1)] if rank + 1 < ranks else []
        waits += [dist.irecv(got, rank - 1)] if rank else []
        for each in waits:
            each.wait()
        return torch.cat([got, x], -1)

    @staticmethod
    def backward(ctx, gradient):
        own, border = gradient[..., ctx.count:].clone(), gradient[..., :ctx.count].contiguous()
        got = torch.zeros_like(border)
        waits = [dist.isend(border, ctx.rank - 1)] if ctx.rank else []
        waits += [dist.irecv(got, ctx.rank + 1)] if ctx.rank + 1 < ctx.ranks else []
        for each in waits:
            each.wait()
        own[..., -ctx.count:] += got
        return own, None, None, None


@program(CP2, "causal_depthwise_conv_halo_cp")
@program(CP2, "causal_depthwise_conv_without_halo_cp_fault", right=False, fault=True)
def causal(mesh, fault=False):
    """Mamba's short convolution: each channel, the last three positions; ranks send their last positions on."""
    model = nn.ModuleDict({"conv": nn.Conv1d(4, 4, 3, groups=4), "out": nn.Linear(4, 4)})
    x, y = torch.randn(2, 4, 8), torch.randn(2, 8, 4)
    inputs, rank, ranks = {"x": x, "y": y}, 0, 1
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = x.chunk(ranks, 2)[rank].clone(), y.chunk(ranks, 1)[rank].clone()
        inputs = {"x": shard(x, 2, rank, ranks), "y": shard(y, 1, rank, ranks)}

    def outputs_of():
        if mesh is None or fault:
            h = functional.pad(x, (2, 0))
        else:
            h = TakesFromBefore.apply(x, 2, rank, ranks)
        loss = functional.mse_loss(model["out"](functional.silu(model["conv"](h)).transpose(1, 2)), y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return iteration(model, inputs, outputs_of, after=mesh and (lambda: average_gradients(model.parameters(), ranks)))


@program(DP2, "gru_cell_ddp", cell=nn.GRUCell, how="ddp")
@program(DP2, "lstm_cell_fsdp", cell=nn.LSTMCell, how="fsdp")
@program(DP2, "rnn_cell_accumulated", cell=nn.RNNCell, how="accumulated")
def cells(mesh, cell, how):
    """Three steps of a recurrent cell."""
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = cell(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            state = None
            for each in x.unbind(1):
                state = self.cell(each, state)
            return self.head(state[0] if isinstance(state, tuple) else state)

    return data_parallel(mesh, Recurrent(), {"x": torch.randn(4, 3, 3), "y": torch.randn(4, 2)},
                         lambda model, x, y: functional.mse_loss(model(x), y), how)


@program(TP2, "lstm_units_tp")
def lstm_units(mesh):
    """Hidden units over ranks: a rank has its units of each of the four gates, and hidden states are gathered."""
    hidden = 4
    model = nn.ParameterDict({"input": nn.Parameter(torch.randn(4, hidden, 3)), "hidden": nn.Parameter(torch.randn(4, hidden, hidden))})
    x, y = torch.randn(2, 3, 3), torch.randn(2, hidden)
    parts = cut(model, {"input": 1, "hidden": 1}, mesh.get_rank(), mesh.size()) if mesh is not None else {}

    def outputs_of():
        own = hidden if mesh is None else hidden // mesh.size()
        h, c = torch.zeros(2, hidden), torch.zeros(2, own)
        for each in x.unbind(1):
            i, f, g, o = (torch.einsum("bi,ghi->gbh", each, model["input"]) + torch.einsum("bi,ghi->gbh", h, model["hidden"])).unbind()
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            h = h if mesh is None else Gathers.apply(h, 1, mesh.get_group())
        loss = functional.mse_loss(h, y)
        (loss if mesh is None else loss / mesh.size()).backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)


class Dropped(nn.Module):
    """Two linear layers with dropout between them; `mask` draws what is kept."""

    def __init__(self, mask=None):
        super().__init__()
        self.up, self.down, self.mask = nn.Linear(6, 8), nn.Linear(8, 6), mask

    def forward(self, x):
        h = torch.relu(self.up(x))
        h = functional.dropout(h, 0.25) if self.mask is None else h * self.mask(h) / 0.75
        return self.down(h)


@program(TP2, "dropout_same_over_tp")
def dropout_same(mesh):
    """Activations that ranks hold whole are dropped by the same draws; the layer after it is cut."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.25), nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))
    if mesh is not None:
        parallelize_module(model, mesh, {"2": ColwiseParallel(), "4": RowwiseParallel()})
    x, y = torch.randn(4, 6), torch.randn(4, 6)

    def outputs_of():
        torch.manual_seed(7)
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of)


@program(DP2, "dropout_apart_over_dp")
@program(DP2, "dropout_same_over_dp_fault", right=False, fault=True)
def dropout_apart(mesh, fault=False):
    """Each rank draws the whole batch's mask, and takes its rows. With the fault all ranks take the first rows."""
    def mask(h):
        torch.manual_seed(7)
        whole = torch.rand(4, 8)
        rank = 0 if mesh is None or fault else mesh.get_rank()
        return whole[rank * len(h):(rank + 1) * len(h)].ge(0.25).to(h.dtype)

    return data_parallel(mesh, Dropped(mask), {"x": torch.randn(4, 6), "y": torch.randn(4, 6)},
                         lambda model, x, y: functional.mse_loss(model(x), y), "hand")


