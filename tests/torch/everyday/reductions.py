"""Statistics and scans over a dimension that is cut: features over tensor parallel ranks, positions over context parallel ones."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import Gathers, Sums

from .catalog import program
from .experts import AllToAll
from .layers import Reduces
from .patterns import CP2, DP2, PP2, TP2, average_gradients, cut, data_parallel, iteration


def of_features(mesh, outputs_of_features, shape=(4, 6), features=8):
    """A layer whose output features are cut, and what `outputs_of_features(h, rank, ranks)` computes of them on each rank."""
    model, x = nn.Linear(shape[-1], features), torch.randn(*shape)
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    parts = cut(model, {"weight": 0, "bias": 0}, rank, ranks) if mesh is not None else {}

    def outputs_of():
        loss = outputs_of_features(model(x))
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x}, outputs_of, parts)


@program(TP2, "variance_of_features_tp")
@program(TP2, "variance_of_own_features_tp_fault", right=False, fault=True)
def variance(mesh, fault=False):
    """The reference calls `var`; ranks add sums and squares. With the fault they average the variances of their own features."""
    def loss_of(h):
        if mesh is None:
            found = h.var(-1)
        elif fault:
            found = Sums.apply(h.var(-1), mesh.get_group()) / mesh.size()
        else:
            sums = Sums.apply(torch.stack([h.sum(-1), h.square().sum(-1)]), mesh.get_group())
            found = (sums[1] - sums[0].square() / 8) / 7
        return found.square().mean()
    return of_features(mesh, loss_of)


@program(TP2, "product_of_features_tp")
def product(mesh):
    """The product of all features from the ranks' products, which are gathered."""
    def loss_of(h):
        own = torch.sigmoid(h).prod(-1, keepdim=True)
        if mesh is None:
            return own.mean()
        return (Gathers.apply(own, 1, mesh.get_group()).prod(-1)).mean() / mesh.size()
    training = of_features(mesh, loss_of)
    if mesh is None:
        return training
    plain = training.step
    training.step = lambda: {"loss": plain()["loss"] * mesh.size()}
    return training


@program(TP2, "norms_one_and_largest_tp")
def norms(mesh):
    """The largest magnitude, as a scale that is no part of the gradient, and the sum of magnitudes as the loss."""
    def loss_of(h):
        total, largest = h.norm(1, -1), h.detach().norm(float("inf"), -1)
        if mesh is not None:
            total = Sums.apply(total, mesh.get_group())
            dist.all_reduce(largest, dist.ReduceOp.MAX)
        return (total / largest).mean()
    return of_features(mesh, loss_of)


@program(DP2, "standard_deviation_of_rows_ddp")
def deviation(mesh):
    class Standardized(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(5, 6)

        def forward(self, x):
            x = self.linear(x)
            return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3)

    return data_parallel(mesh, Standardized(), {"x": torch.randn(4, 5), "y": torch.randn(4, 6)},
                         lambda model, x, y: functional.mse_loss(model(x), y), "ddp")


@program(DP2, "cumulative_product_fsdp")
def cumulative(mesh):
    """Transmittance of volume rendering: products of what earlier samples let through."""
    class Rendered(nn.Module):
        def __init__(self):
            super().__init__()
            self.density, self.color = nn.Linear(5, 1), nn.Linear(5, 3)

        def forward(self, x):
            alpha = 1 - torch.exp(-functional.softplus(self.density(x)[..., 0]))
            through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], 1), 1)
            return ((alpha * through)[..., None] * torch.sigmoid(self.color(x))).sum(1)

    return data_parallel(mesh, Rendered(), {"x": torch.randn(4, 4, 5), "y": torch.rand(4, 3)},
                         lambda model, x, y: functional.mse_loss(model(x), y), "fsdp")


def of_positions(mesh, model, loss_of, length=8, reduce="avg"):
    """A model of sequences that are cut over ranks; `loss_of(model, x, y)` of this rank's positions."""
    x, y = torch.randn(2, length, 5), torch.randn(2, length, 5)
    inputs, ranks = {"x": x, "y": y}, 1
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks, 1)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 1, rank, ranks), "y": shard(y, 1, rank, ranks)}

    def outputs_of():
        loss = loss_of(model, x, y)
        loss.backward()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), reduce)}

    return iteration(model, inputs, outputs_of, after=mesh and (lambda: average_gradients(model.parameters(), ranks, divide=reduce == "avg")))


@program(CP2, "cumulative_sum_of_positions_cp")
@program(CP2, "cumulative_sum_without_carry_cp_fault", right=False, fault=True)
def carried(mesh, fault=False):
    """A running mean over positions: each rank adds what the ranks before it have summed up."""
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(5, 4), nn.Linear(4, 5)

        def forward(self, x):
            h, start = self.up(x), 0
            total = h.cumsum(1)
            if mesh is not None:
                start = mesh.get_rank() * x.shape[1]
                earlier = torch.arange(mesh.size()).lt(mesh.get_rank()).to(h.dtype)
                own = torch.zeros(mesh.size(), *h[:, 0].shape)
                own = torch.cat([own[: mesh.get_rank()], h.sum(1)[None], own[mesh.get_rank() + 1:]])
                total = total if fault else total + torch.einsum("r,rbh->bh", earlier, Reduces.apply(own))[:, None]
            return self.down(total / (start + torch.arange(1, x.shape[1] + 1))[:, None])

    return of_positions(mesh, Running(), lambda model, x, y: functional.mse_loss(model(x), y))


@program(CP2, "logsumexp_pooling_cp")
def pooled(mesh):
    """A smooth maximum over all positions, from the ranks' maxima and sums."""
    def loss_of(model, x, y):
        h = model(x)
        if mesh is None:
            return (torch.logsumexp(h, 1) - y.sum(1)).square().mean()
        largest = h.detach().amax(1)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        total, wanted = Reduces.apply(torch.stack([(h - largest[:, None]).exp().sum(1), y.sum(1)]))
        return (total.log() + largest - wanted).square().mean()
    return of_positions(mesh, nn.Linear(5, 5), loss_of)


@program(CP2, "ulysses_heads_for_positions_cp")
def ulysses(mesh):
    """Positions are exchanged for heads before attention by all-to-all, and back after it."""

    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(5, 24), nn.Linear(8, 5)

        def forward(self, x):
            packed = self.qkv(x).unflatten(-1, (3, 2, 4)).permute(3, 2, 0, 1, 4)  # heads, 3, batch, positions, width
            if mesh is not None:
                packed = torch.cat(AllToAll.apply(packed).chunk(mesh.size()), 3)
            found = functional.scaled_dot_product_attention(*packed.unbind(1), is_causal=True)
            if mesh is not None:
                found = AllToAll.apply(torch.cat(found.chunk(mesh.size(), 2)))
            return self.out(found.permute(1, 2, 0, 3).flatten(2))

    return of_positions(mesh, Attends(), lambda model, x, y: functional.mse_loss(model(x), y))


@program(PP2, "convolutional_stages_pp")
@program(PP2, "recurrent_stages_last_microbatch_pp_fault", right=False, recurrent=True, fault=True)
def stages(mesh, recurrent=False, fault=False):
    """Two stages and two microbatches, sent by hand. With the fault only the last microbatch's gradients stay."""
    first, second = (nn.GRUCell(6, 6), nn.GRUCell(6, 6)) if recurrent else (nn.Conv1d(1, 3, 3, padding=1), nn.Conv1d(3, 1, 3, padding=1))
    whole = nn.ModuleDict({"first": first, "second": second})
    x, y = (torch.randn(4, 6), torch.randn(4, 6)) if recurrent else (torch.randn(4, 1, 6), torch.randn(4, 1, 6))
    if mesh is None:
        def outputs_of():
            loss = functional.mse_loss(torch.tanh(second(torch.tanh(first(x)))), y)
            loss.backward()
            return {"loss": loss.detach()}
        return iteration(whole, {"x": x, "y": y}, outputs_of)
    rank = mesh.get_rank()
    del whole["second" if rank == 0 else "first"]
    between = [2, *torch.tanh(first(x[:2])).shape[1:]]

    def staged():
        total = torch.zeros(())
        for index, (part, target) in enumerate(zip(x.split(2), y.split(2))):
            if fault and index:
                for each in whole.parameters():
                    each.grad.zero_()
            if rank == 0:
                sent = torch.tanh(first(part))
                dist.send(sent.detach(), 1)
                gradient = torch.empty(between)
                dist.recv(gradient, 1)
                sent.backward(gradient)
            else:
                got = torch.empty(between)
                dist.recv(got, 0)
                got.requires_grad_()
                loss = functional.mse_loss(torch.tanh(second(got)), target) / 2
                loss.backward()
                dist.send(got.grad, 0)
                total += loss.detach()
        return {"loss": total} if rank == 1 else {}

    return iteration(whole, {"x": x} if rank == 0 else {"y": y}, staged)


