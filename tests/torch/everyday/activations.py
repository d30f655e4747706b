"""Activation functions between layers that are cut over tensor parallel ranks, or whose batch is cut over data parallel ones."""
import torch
from planproof.torch import Training, reduced, shard
from torch import nn
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional

from by_hand import Sums, SumsGradient, rows, share

from .catalog import program
from .patterns import DP2, TP2, TP4, Channels, adamw, data_parallel, iteration, over_channels


class Applied(nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@program(TP2, "leaky_relu_tp", layer=lambda: nn.LeakyReLU(0.1))
@program(TP4, "hardtanh_tp4", layer=lambda: nn.Hardtanh(-0.5, 0.75))
@program(TP2, "softplus_tp", layer=lambda: nn.Softplus(beta=2))
@program(TP2, "prelu_of_each_channel_tp", layer=lambda: nn.PReLU(8), dims=dict(weight=0))
@program(TP2, "softmax_of_each_head_tp", layer=lambda: Applied(lambda x: x.unflatten(-1, (-1, 4)).softmax(-1).flatten(-2)))
@program(TP2, "softmax_of_own_channels_tp_fault", right=False, layer=lambda: nn.Softmax(-1))
def by_hand(mesh, layer, dims=None):
    def shrink(middle, ranks):
        if isinstance(middle, nn.PReLU):
            middle.num_parameters //= ranks
    return over_channels(mesh, Channels(layer()), dims, shrink=shrink)


@program(TP2, "hardswish_dtensor", function=functional.hardswish)
@program(TP2, "mish_dtensor", function=functional.mish)
@program(TP2, "squared_relu_clamped_dtensor", function=lambda x: functional.relu(x).square().clamp(max=2.0))
@program(TP2, "quick_gelu_sequence_dtensor", function=lambda x: x * torch.sigmoid(1.702 * x), sequence=True)
def by_dtensor(mesh, function, sequence=False):
    model = nn.Sequential(nn.Linear(6, 8), Applied(function), nn.Linear(8, 6))
    if mesh is not None:
        parallelize_module(model, mesh, {
            "0": ColwiseParallel(input_layouts=Shard(0)) if sequence else ColwiseParallel(),
            "2": RowwiseParallel(output_layouts=Shard(0)) if sequence else RowwiseParallel()})
    whole, y = torch.randn(4, 6), torch.randn(4, 6)
    inputs, x, rank = {"x": whole, "y": y}, whole, 0
    if mesh is not None and sequence:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks)[rank].clone() for each in (whole, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = adamw(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = (model(x) - y).square().sum()
        loss.backward()
        optimizer.step()
        return {"loss": reduced(loss.detach(), "sum") if mesh is not None and sequence else loss.detach()}

    return Training(step, model, optimizer, inputs)


@program(DP2, "elu_fsdp", how="fsdp", layer=lambda: nn.ELU(0.5))
@program(DP2, "log_sigmoid_ddp", how="ddp", layer=nn.LogSigmoid)
@program(DP2, "logaddexp_accumulated", how="accumulated", layer=lambda: Applied(lambda x: torch.logaddexp(x, x.flip(-1) * 0.5)))
@program(DP2, "celu_hardsigmoid_each", how="each", layer=lambda: nn.Sequential(nn.CELU(), nn.Hardsigmoid()))
@program(DP2, "gelu_tanh_hand_fault", right=False, how="hand", fault="alone", layer=lambda: nn.GELU(approximate="tanh"))
def over_data(mesh, how, layer, fault=None):
    model = nn.Sequential(nn.Linear(6, 8), layer(), nn.Linear(8, 3))
    return data_parallel(mesh, model, {"x": torch.randn(4, 6), "y": torch.randn(4, 3)},
                         lambda model, x, y: functional.mse_loss(model(x), y), how, fault=fault)


class Gated(nn.Module):
    """A projection to values and gates one after the other, `glu`, and a projection back."""

    def __init__(self):
        super().__init__()
        self.both, self.down = nn.Linear(6, 16), nn.Linear(8, 6)

    def forward(self, x):
        return self.down(functional.glu(self.both(x), -1))


@program(TP2, "glu_pieces_tp")
@program(TP2, "glu_halves_tp_fault", right=False, fault=True)
def gated(mesh, fault=False):
    """Each rank needs its share of the values and of the gates; the fault cuts the projection into halves."""
    model, x, y = Gated(), torch.randn(4, 6), torch.randn(4, 6)
    parts, group = {}, None
    if mesh is not None:
        rank, group = mesh.get_rank(), mesh.get_group()
        own = [[rank * 8, 8]] if fault else [[rank * 4, 4], [8 + rank * 4, 4]]
        parts = {"both.weight": rows((16, 6), 0, own), "both.bias": rows((16,), 0, own), "down.weight": share((6, 8), 1, rank, 2)}
        for name, part in parts.items():
            layer, word = name.split(".")
            setattr(getattr(model, layer), word, nn.Parameter(part.of_whole(getattr(getattr(model, layer), word).detach()).clone()))

    def outputs_of():
        both, down = model.both, model.down
        h = functional.glu(both(x if group is None else SumsGradient.apply(x, group)), -1)
        h = functional.linear(h, down.weight)
        loss = functional.mse_loss((h if group is None else Sums.apply(h, group)) + down.bias, y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)
