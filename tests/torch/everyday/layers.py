"""Layers of images and channels: convolution, normalization, pooling, interpolation, embedding."""
import torch
import torch.distributed as dist
from planproof.torch import bounded, reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import Sums

from .catalog import program
from .patterns import DP2, DP4, TP2, Channels, average_gradients, cut, data_parallel, iteration, over_channels

TOKENS = {"tokens": (0, 12)}


class Words(nn.Module):
    """Embedding with a row for padding, and a head."""

    def __init__(self, padding=0):
        super().__init__()
        self.embedding = nn.Embedding(12, 8, padding_idx=padding)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def words(size=4):
    tokens = torch.randint(1, 12, (size, 5))
    tokens[:, 3:] = 0
    return {"tokens": tokens, "y": torch.randn(size, 5, 3)}


def squared(model, y, **data):
    (x,) = data.values()
    return functional.mse_loss(model(x), y)


@program(DP2, "embedding_padding_ddp", how="ddp")
@program(DP4, "embedding_padding_fsdp4", how="fsdp", padding=11)
def embedding(mesh, how, padding=0):
    return data_parallel(mesh, Words(padding), words(), squared, how, domains=TOKENS)


@program(TP2, "embedding_padding_vocabulary_tp")
@program(TP2, "embedding_padding_vocabulary_tp_fault", right=False, fault=True)
def vocabulary(mesh, fault=False):
    """Rows over ranks; with the fault a rank pads its own row 0."""
    model, data = Words(), words()
    tokens, y = data["tokens"], data["y"]
    parts = {}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        parts = cut(model, {"embedding.weight": 0}, rank, ranks)

    def features():
        if mesh is None:
            return model.embedding(tokens)
        rows = 12 // ranks
        own = (tokens >= rank * rows) & (tokens < (rank + 1) * rows)
        local = torch.where(own, tokens - rank * rows, 0)
        found = functional.embedding(local, model.embedding.weight, 0 if rank == 0 or fault else None)
        return Sums.apply(found * own[..., None], mesh.get_group())

    def outputs_of():
        loss = functional.mse_loss(model.head(features()), y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"tokens": bounded(tokens, 0, 12), "y": y}, outputs_of, parts)


def images(size=4, channels=2, shape=(6, 6), out=3):
    return {"x": torch.randn(size, channels, *shape), "y": torch.randn(size, out)}


def classify(model, x, y):
    return functional.mse_loss(model(x).flatten(2).mean(-1), y)


@program(DP2, "conv1d_dilated_ddp", how="ddp", shape=(10,),
         layers=lambda: nn.Sequential(nn.Conv1d(2, 4, 3, dilation=2), nn.ReLU(), nn.Conv1d(4, 3, 2)))
@program(DP2, "conv2d_strided_groups_fsdp", how="fsdp",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(4, 3, 1)))
@program(DP2, "conv2d_depthwise_separable_accumulated", how="accumulated",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2, bias=False), nn.SiLU(), nn.Conv2d(4, 3, 1)))
@program(DP2, "conv3d_each", how="each", shape=(3, 4, 3),
         layers=lambda: nn.Sequential(nn.Conv3d(2, 2, 2), nn.Tanh(), nn.Conv3d(2, 3, (2, 1, 1))))
@program(DP2, "conv_transpose1d_ddp", how="ddp", shape=(5,),
         layers=lambda: nn.Sequential(nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1)))
@program(DP2, "conv_transpose2d_hand_fault", right=False, how="hand", shape=(3, 3), fault="sum",
         layers=lambda: nn.Sequential(nn.ConvTranspose2d(2, 3, 2, stride=2, bias=False)))
@program(DP2, "max_pool2d_ddp", how="ddp",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.MaxPool2d(2)))
@program(DP2, "adaptive_avg_pool_fsdp", how="fsdp", shape=(7, 5),
         layers=lambda: nn.Sequential(nn.Conv2d(2, 3, 1), nn.AdaptiveAvgPool2d((3, 2)), nn.Conv2d(3, 3, (3, 2))))
@program(DP2, "interpolate_bilinear_ddp", how="ddp", shape=(3, 4),
         layers=lambda: nn.Sequential(nn.Conv2d(2, 3, 2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                                      nn.Conv2d(3, 3, 3)))
@program(DP2, "interpolate_nearest_hand", how="hand", shape=(4,),
         layers=lambda: nn.Sequential(nn.Conv1d(2, 3, 2), nn.Upsample(scale_factor=2), nn.Conv1d(3, 3, 3)))
@program(DP2, "instance_norm_hand", how="hand",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.InstanceNorm2d(3, affine=True), nn.ReLU(), nn.Conv2d(3, 3, 2)))
@program(DP2, "group_norm_fsdp", how="fsdp",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Conv2d(4, 3, 2)))
@program(DP2, "batch_norm_evaluated_ddp", how="ddp", frozen=True,
         layers=lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 3, 2)))
@program(DP2, "batch_norm_of_each_rank_fault", right=False, how="ddp",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 3, 2)))
@program(DP2, "layer_norm_of_two_dimensions_fsdp", how="fsdp",
         layers=lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.LayerNorm([4, 4]), nn.GELU(), nn.Conv2d(3, 3, 2)))
def of_images(mesh, how, layers, shape=(6, 6), frozen=False, fault=None):
    model = layers()
    if frozen:
        model.eval()
        model[1].running_mean.uniform_(-1, 1)
        model[1].running_var.uniform_(0.5, 2)
    return data_parallel(mesh, model, images(shape=shape), classify, how, fault=fault)


def fewer(name):
    """Tells a layer how many channels it has."""
    return lambda layer, ranks: setattr(layer, name, getattr(layer, name) // ranks)


@program(TP2, "batch_norm_channels_tp", options={"overrides": {"middle.running_*": {"dim": 0, "axis": "tp"}}})
def batch_norm(mesh):
    """Statistics of channels need no communication where channels are cut."""
    layer = nn.BatchNorm1d(8)
    return over_channels(mesh, Channels(layer), dict(weight=0, bias=0, running_mean=0, running_var=0), shrink=fewer("num_features"))


@program(TP2, "group_norm_groups_tp")
@program(TP2, "group_norm_groups_tp_fault", right=False, fault=True)
def group_norm(mesh, fault=False):
    """Four groups of two channels over two ranks; the fault leaves four groups of one channel on each rank."""
    def shrink(layer, ranks):
        layer.num_channels //= ranks
        if not fault:
            layer.num_groups //= ranks
    return over_channels(mesh, Channels(nn.GroupNorm(4, 8), first=True), dict(weight=0, bias=0), (4, 5, 6), shrink)


@program(TP2, "conv1d_depthwise_tp")
def depthwise(mesh):
    layer = nn.Conv1d(8, 8, 3, padding=1, groups=8)
    def shrink(layer, ranks):
        layer.groups = layer.in_channels = layer.out_channels = 8 // ranks
    return over_channels(mesh, Channels(layer, first=True), dict(weight=0, bias=0), (2, 5, 6), shrink)


@program(TP2, "conv2d_columns_then_rows_tp")
@program(TP2, "conv2d_bias_on_each_rank_tp_fault", right=False, fault=True)
def convolutions(mesh, fault=False):
    """Output channels of one convolution are cut, and input channels of the next."""
    first, second = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 3, 3)
    model = nn.ModuleDict({"first": first, "second": second})
    x, y = torch.randn(2, 2, 4, 4), torch.randn(2, 3, 2, 2)
    parts, group = {}, None
    if mesh is not None:
        parts = cut(model, {"first.weight": 0, "first.bias": 0, "second.weight": 1}, mesh.get_rank(), mesh.size())
        group = mesh.get_group()

    def outputs_of():
        h = functional.relu(functional.conv2d(x, first.weight, first.bias, padding=1))
        if fault:
            out = functional.conv2d(h, second.weight, second.bias)
            out = out if group is None else Sums.apply(out, group)
        else:
            out = functional.conv2d(h, second.weight)
            out = (out if group is None else Sums.apply(out, group)) + second.bias[:, None, None]
        loss = functional.mse_loss(out, y)
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": y}, outputs_of, parts)


@program({"cp": 2}, "avg_pool_of_image_rows_cp")
def pooled_rows(mesh):
    """Rows of an image over ranks, pooled by two: no window is cut."""
    model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.AvgPool2d(2), nn.Conv2d(3, 3, 1))
    x, y = torch.randn(2, 2, 8, 4), torch.randn(2, 3, 4, 2)
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks, 2)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 2, rank, ranks), "y": shard(y, 2, rank, ranks)}

    def outputs_of():
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return iteration(model, inputs, outputs_of, after=mesh and (lambda: average_gradients(model.parameters(), mesh.size())))


@program(DP2, "batch_norm_synchronized_ddp")
def synchronized(mesh):
    """Batch statistics of all ranks, by hand as SyncBatchNorm has them."""
    class Synchronized(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.weight, self.bias = nn.Linear(4, 4), nn.Parameter(torch.rand(4)), nn.Parameter(torch.rand(4))

        def forward(self, x):
            x = self.linear(x)
            sums = torch.stack([x.sum(0), x.pow(2).sum(0)])
            count = x.shape[0]
            if mesh is not None:
                sums, count = Reduces.apply(sums), count * mesh.size()
            mean, square = sums / count
            return (x - mean) * torch.rsqrt(square - mean * mean + 1e-5) * self.weight + self.bias

    return data_parallel(mesh, Synchronized(), {"x": torch.randn(8, 4), "y": torch.randn(8, 4)}, squared)


class Reduces(torch.autograd.Function):
    """The sum over ranks, whose gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


