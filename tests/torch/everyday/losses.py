"""Losses: most are means over the batch, and some over what counts of it."""
import torch
import torch.distributed as dist
from planproof.torch import bounded, shard
from torch import nn
from torch.nn import functional

from by_hand import Sums, SumsGradient

from .catalog import program
from .layers import Reduces
from .patterns import DP2, DP4, TP2, average_gradients, cut, data_parallel, iteration, named


def linear(out=3):
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, out))


def x_and(y, size=4):
    return {"x": torch.randn(size, 5), "y": y}


def probabilities(*shape):
    return torch.rand(*shape) * 0.8 + 0.1


@program(DP2, "bce_ddp", how="ddp", y=lambda: probabilities(4, 3),
         loss=lambda out, y: functional.binary_cross_entropy(torch.sigmoid(out), y))
@program(DP2, "bce_with_logits_weighted_fsdp", how="fsdp", y=lambda: torch.randint(2, (4, 3)).to(torch.get_default_dtype()),
         loss=lambda out, y: functional.binary_cross_entropy_with_logits(out, y, pos_weight=torch.tensor([1.0, 2.0, 0.5])))
@program(DP2, "smooth_l1_hand", how="hand", y=lambda: torch.randn(4, 3), loss=lambda out, y: functional.smooth_l1_loss(out, y, beta=0.5))
@program(DP4, "huber_fsdp4", how="fsdp", y=lambda: torch.randn(4, 3), loss=lambda out, y: functional.huber_loss(out, y, delta=0.75))
@program(DP2, "l1_accumulated", how="accumulated", y=lambda: torch.randn(4, 3), loss=functional.l1_loss)
@program(DP2, "kl_div_of_log_targets_each", how="each", y=lambda: torch.randn(4, 3).log_softmax(-1),
         loss=lambda out, y: functional.kl_div(out.log_softmax(-1), y, reduction="batchmean", log_target=True))
@program(DP2, "kl_div_of_probabilities_ddp", how="ddp", y=lambda: torch.randn(4, 3).softmax(-1),
         loss=lambda out, y: functional.kl_div(out.log_softmax(-1), y, reduction="batchmean"))
@program(DP2, "gaussian_nll_fsdp", how="fsdp", y=lambda: torch.randn(4, 3),
         loss=lambda out, y: functional.gaussian_nll_loss(out, y, functional.softplus(out) + 0.1))
@program(DP2, "cross_entropy_of_probabilities_hand", how="hand", y=lambda: torch.randn(4, 3).softmax(-1), loss=functional.cross_entropy)
@program(DP2, "poisson_nll_hand_fault", right=False, how="hand", fault="sum", y=lambda: torch.rand(4, 3), loss=functional.poisson_nll_loss)
def of_values(mesh, how, y, loss, fault=None):
    return data_parallel(mesh, linear(), x_and(y()), lambda model, x, y: loss(model(x), y), how, fault=fault)


@program(DP2, "label_smoothing_fsdp", how="fsdp", loss=lambda out, y: functional.cross_entropy(out, y, label_smoothing=0.1))
@program(DP2, "focal_loss_ddp", how="ddp",
         loss=lambda out, y: -((1 - out.softmax(-1)).pow(2) * out.log_softmax(-1)).gather(-1, y[:, None]).mean())
@program(DP2, "cross_entropy_weights_mean_of_means_ddp_fault", right=False, how="ddp",
         loss=lambda out, y: functional.cross_entropy(out, y, weight=torch.tensor([0.5, 1.0, 2.0])))
def of_labels(mesh, how, loss):
    return data_parallel(mesh, linear(), x_and(torch.tensor([0, 2, 1, 1])), lambda model, x, y: loss(model(x), y), how,
                         domains={"y": (0, 3)})


@program(DP2, "cross_entropy_weights_of_all_ranks")
def weighted(mesh):
    """Sums of weighted losses and of weights are added over ranks before they are divided."""
    weight = torch.tensor([0.5, 1.0, 2.0])

    def loss_of(model, x, y):
        total, number = functional.cross_entropy(model(x), y, weight, reduction="sum"), weight[y].sum()
        if mesh is not None:
            dist.all_reduce(number)
        return total / number

    return data_parallel(mesh, linear(), x_and(torch.tensor([0, 2, 1, 1])), loss_of, "hand", domains={"y": (0, 3)}, reduce="sum")


@program(DP2, "ignored_labels_of_all_ranks")
@program(DP2, "ignored_labels_mean_of_means_fault", right=False, fault=True)
def ignored(mesh, fault=False):
    """Labels of -100 do not count; which ones is the batch's business."""
    labels = torch.tensor([[0, 2, -100], [1, -100, -100], [1, 0, 2], [2, 2, -100]])

    def loss_of(model, x, y):
        out = model(x)
        if fault:
            return functional.cross_entropy(out.flatten(0, 1), y.flatten())
        total, number = functional.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="sum"), (y != -100).sum()
        if mesh is not None:
            dist.all_reduce(number)
        return total / number

    return data_parallel(mesh, linear(), {"x": torch.randn(4, 3, 5), "y": labels}, loss_of, "hand",
                         reduce="avg" if fault else "sum", domains={"y": (-100, 3)})


@program(DP2, "cosine_embedding_ddp", how="ddp",
         loss=lambda a, b, c: functional.cosine_embedding_loss(a, b, torch.ones(len(a)) * -1, margin=0.1))
@program(DP2, "triplet_margin_fsdp", how="fsdp", loss=lambda a, b, c: functional.triplet_margin_loss(a, b, c, margin=0.5))
@program(DP2, "margin_ranking_hand", how="hand",
         loss=lambda a, b, c: functional.margin_ranking_loss(a.sum(-1), b.sum(-1), torch.ones(len(a)), margin=0.2) + (a * c).mean())
@program(DP2, "cosine_similarity_each", how="each",
         loss=lambda a, b, c: (1 - functional.cosine_similarity(a, b)).mean() + (a - c).abs().mean())
def of_pairs(mesh, how, loss):
    """Two or three views of a batch through one encoder."""
    data = {name: torch.randn(4, 5) for name in ("a", "b", "c")}
    return data_parallel(mesh, linear(4), data, lambda model, **views: loss(*model(torch.stack(list(views.values()), 1)).unbind(1)), how)


class GathersRows(torch.autograd.Function):
    """All ranks' rows; the gradient is summed over ranks, and its rows taken."""

    @staticmethod
    def forward(ctx, x):
        found = x.new_empty(dist.get_world_size() * len(x), *x.shape[1:])
        dist.all_gather_into_tensor(found, x.contiguous())
        return found

    @staticmethod
    def backward(ctx, gradient):
        own = gradient.new_empty(len(gradient) // dist.get_world_size(), *gradient.shape[1:])
        dist.reduce_scatter_tensor(own, gradient.contiguous())
        return own


@program(DP2, "contrastive_with_all_negatives")
@program(DP2, "contrastive_with_own_negatives_fault", right=False, fault=True)
def contrastive(mesh, fault=False):
    """InfoNCE: each row's partner among the rows of all ranks."""
    def loss_of(model, a, b):
        first, second = (functional.normalize(model(each), dim=-1) for each in (a, b))
        start = 0
        if mesh is not None and not fault:
            second, start = GathersRows.apply(second), mesh.get_rank() * len(a)
        return functional.cross_entropy(first @ second.T / 0.2, start + torch.arange(len(a)))

    return data_parallel(mesh, linear(4), {"a": torch.randn(4, 5), "b": torch.randn(4, 5)}, loss_of, "ddp")


@program(TP2, "z_loss_vocabulary_tp")
@program(TP2, "z_loss_of_own_vocabulary_tp_fault", right=False, fault=True)
def z_loss(mesh, fault=False):
    """Cross entropy over a vocabulary that is cut, with the square of the logarithm of the normalizer."""
    head, x, y = nn.Linear(5, 8, bias=False), torch.randn(4, 5), torch.tensor([1, 6, 3, 7])
    body = nn.Linear(5, 5)
    model = nn.ModuleDict({"body": body, "head": head})
    group = None if mesh is None else mesh.get_group()
    parts = cut(model, {"head.weight": 0}, mesh.get_rank(), mesh.size()) if mesh is not None else {}

    def outputs_of():
        h = torch.tanh(body(x))
        logits = head(h if group is None else SumsGradient.apply(h, group))
        largest = logits.detach().max(-1, keepdim=True).values
        if group is not None:
            dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
        total = (logits - largest).exp().sum(-1)
        own = y if group is None else y - mesh.get_rank() * logits.shape[-1]
        inside = (own >= 0) & (own < logits.shape[-1])
        chosen = logits.gather(-1, torch.where(inside, own, 0)[:, None])[:, 0] * inside
        local = total
        if group is not None:
            total, chosen = Sums.apply(total, group), Sums.apply(chosen, group)
        normalizer = total.log() + largest[:, 0]
        small = (local.log() + largest[:, 0]) if fault else normalizer
        loss = (normalizer - chosen + 0.01 * small.square()).mean()
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, {"x": x, "y": bounded(y, 0, 8)}, outputs_of, parts)


@program(TP2, "cosine_of_features_tp")
def cosine(mesh):
    """Cosine similarity of features that are cut: three sums over ranks."""
    model, x, y = nn.Linear(5, 8), torch.randn(4, 5), torch.randn(4, 8)
    inputs, parts = {"x": x, "y": y}, {}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        parts = cut(model, {"weight": 0, "bias": 0}, rank, ranks)
        y = y.chunk(ranks, 1)[rank].clone()
        inputs["y"] = shard(y, 1, rank, ranks)

    def outputs_of():
        out = model(x)
        sums = torch.stack([(out * y).sum(-1), out.square().sum(-1), y.square().sum(-1)])
        dot, first, second = sums if mesh is None else Sums.apply(sums, mesh.get_group())
        loss = (1 - dot / (first.sqrt() * second.sqrt()).clamp(min=1e-8)).mean()
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, inputs, outputs_of, parts)


@program(DP2, "distillation_fsdp")
def distillation(mesh):
    """A student learns from a teacher, which is not trained, at a temperature of two."""
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = linear(), linear()
            self.teacher.requires_grad_(False)

        def forward(self, x):
            with torch.no_grad():
                target = (self.teacher(x) / 2).softmax(-1)
            return functional.kl_div((self.student(x) / 2).log_softmax(-1), target, reduction="batchmean") * 4

    return data_parallel(mesh, Pair(), {"x": torch.randn(4, 5)}, lambda model, x: model(x), "fsdp",
                         lambda parameters: torch.optim.AdamW([each for each in parameters if each.requires_grad], lr=1e-2))


@program(DP2, "batch_variance_penalty_of_all_ranks")
def barlow(mesh):
    """A penalty on the variance of features over the whole batch (VICReg), of sums over ranks."""
    model, data = linear(4), {"x": torch.randn(4, 5)}
    ranks = 1 if mesh is None else mesh.size()
    rank = 0 if mesh is None else mesh.get_rank()
    x = data["x"].chunk(ranks)[rank].clone()

    def outputs_of():
        out = model(x)
        sums = torch.stack([out.sum(0), out.square().sum(0)])
        mean, square = (sums if mesh is None else Reduces.apply(sums)) / 4
        loss = functional.relu(1 - torch.sqrt(square - mean.square() + 1e-4)).mean()
        loss.backward()
        return {"loss": loss.detach()}

    return iteration(model, named({"x": x}, {}, rank, ranks), outputs_of,
                     after=mesh and (lambda: average_gradients(model.parameters(), ranks)))
