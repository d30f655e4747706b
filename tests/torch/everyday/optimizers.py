"""Optimizers, clipping and scaling, each with gradients that ranks reduce."""
import torch
from planproof.torch import Training, reduced
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional

from .catalog import program
from .patterns import DP2, DP4, TP2, data_parallel, named


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3))


def loss_of(model, x, y):
    return functional.mse_loss(model(x), y)


def batch(size=4):
    return {"x": torch.randn(size, 6), "y": torch.randn(size, 3)}


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023: the sign of an interpolation of gradient and momentum."""

    def __init__(self, parameters, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.1):
        super().__init__(parameters, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                state = self.state[each]
                if not state:
                    state["exp_avg"] = torch.zeros_like(each)
                early, late = group["betas"]
                each.mul_(1 - group["lr"] * group["weight_decay"])
                each.add_((state["exp_avg"] * early + each.grad * (1 - early)).sign_(), alpha=-group["lr"])
                state["exp_avg"].lerp_(each.grad, 1 - late)


class Lamb(torch.optim.Optimizer):
    """You et al. 2019: Adam's step of each parameter, scaled by the parameter's norm. `local`: by the norm of what this rank holds."""

    def __init__(self, parameters, lr=1e-2, local=False):
        super().__init__(parameters, dict(lr=lr, local=local))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                state = self.state[each]
                if not state:
                    state.update(exp_avg=torch.zeros_like(each), exp_avg_sq=torch.zeros_like(each))
                state["exp_avg"].mul_(0.9).add_(each.grad, alpha=0.1)
                state["exp_avg_sq"].mul_(0.999).addcmul_(each.grad, each.grad, value=0.001)
                update = state["exp_avg"] / (state["exp_avg_sq"].sqrt() + 1e-6) + 0.01 * each
                ratio = self.norm(each, group["local"]) / self.norm(update, group["local"])
                if isinstance(each, DTensor):
                    each.to_local().add_(update.to_local() * ratio, alpha=-group["lr"])
                else:
                    each.add_(update * ratio, alpha=-group["lr"])

    @staticmethod
    def norm(value, local):
        if isinstance(value, DTensor):
            return value.to_local().norm() if local else value.norm().full_tensor()
        return value.norm()


def newton_schulz(matrix, steps=3):
    """The nearest orthogonal matrix, about."""
    x = matrix / (matrix.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x


class Muon(torch.optim.Optimizer):
    """Jordan 2024: momentum of matrices, orthogonalized. FSDP's shards are gathered for it, and each rank keeps its own rows."""

    def __init__(self, parameters, lr=0.02, momentum=0.95):
        super().__init__(parameters, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                state = self.state[each]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(each)
                buffer = state["momentum_buffer"]
                buffer.mul_(group["momentum"]).add_(each.grad)
                if each.ndim != 2:
                    each.add_(buffer, alpha=-group["lr"])
                elif isinstance(each, DTensor):
                    whole = newton_schulz(buffer.full_tensor())
                    rows = whole.chunk(each.device_mesh.size())[each.device_mesh.get_rank()]
                    each.to_local().add_(rows, alpha=-group["lr"])
                else:
                    each.add_(newton_schulz(buffer), alpha=-group["lr"])


def adamw_of_groups(parameters):
    """No decay of vectors."""
    parameters = list(parameters)
    return torch.optim.AdamW([{"params": [each for each in parameters if each.ndim > 1], "weight_decay": 0.1},
                              {"params": [each for each in parameters if each.ndim < 2], "weight_decay": 0.0}], lr=1e-2)


@program(DP2, "adam_fused_ddp", how="ddp", optimizer=lambda p: torch.optim.Adam(p, lr=1e-2, fused=True))
@program(DP2, "adamw_foreach_groups_fsdp", how="fsdp", optimizer=adamw_of_groups)
@program(DP2, "adamw_amsgrad_maximize_hand", how="hand", optimizer=lambda p: torch.optim.AdamW(p, amsgrad=True, maximize=True))
@program(DP4, "sgd_nesterov_fsdp4", how="fsdp", optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01))
@program(DP2, "lion_fsdp", how="fsdp", optimizer=Lion)
@program(DP2, "lamb_fsdp", how="fsdp", optimizer=Lamb)
@program(DP2, "lamb_norm_of_shards_fsdp_fault", right=False, how="fsdp", optimizer=lambda p: Lamb(p, local=True))
@program(DP2, "muon_gathered_fsdp", how="fsdp", optimizer=Muon)
@program(DP2, "muon_of_torch_ddp", how="ddp", bias=False, optimizer=lambda p: torch.optim.Muon(p, lr=0.02))
@program(DP2, "adafactor_ddp", how="ddp", optimizer=lambda p: torch.optim.Adafactor(p, lr=0.01))
@program(DP2, "rmsprop_centered_each", how="each", optimizer=lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.9))
@program(DP2, "adagrad_accumulated", how="accumulated", optimizer=lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.01))
@program(DP2, "adadelta_not_reduced_fault", right=False, how="hand", fault="alone", optimizer=lambda p: torch.optim.Adadelta(p))
def optimized(mesh, how, optimizer, fault=None, bias=True):
    model = mlp() if bias else nn.Sequential(nn.Linear(6, 8, bias=False), nn.GELU(), nn.Linear(8, 3, bias=False))
    return data_parallel(mesh, model, batch(), loss_of, how, optimizer, fault=fault)


def clip_by_value(parameters):
    torch.nn.utils.clip_grad_value_(list(parameters), 0.05)


def clip_by_norm(kind):
    def clip(parameters):
        norm = torch.nn.utils.clip_grad_norm_(list(parameters), 0.1, norm_type=kind)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm
    return clip


@program(DP2, "clip_by_value_ddp", how="ddp", clip=clip_by_value)
@program(DP2, "clip_by_largest_fsdp", how="fsdp", clip=clip_by_norm(float("inf")))
@program(DP2, "clip_by_sum_of_magnitudes_fsdp", how="fsdp", clip=clip_by_norm(1.0))
@program(DP2, "clip_by_largest_hand", how="hand", clip=clip_by_norm(float("inf")))
def clipped(mesh, how, clip):
    return data_parallel(mesh, mlp(), batch(), loss_of, how, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), clip=clip)


@program(TP2, "clip_by_largest_tp")
@program(TP2, "clip_by_largest_of_own_shard_tp_fault", right=False, fault=True)
def clipped_shards(mesh, fault=False):
    """The largest gradient is that of a weight that is cut, since its inputs are large."""
    model, data = mlp(), batch()
    data["x"] *= 4
    if mesh is not None:
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = loss_of(model, **data)
        loss.backward()
        if fault and mesh is not None:
            gradients = [each.grad.to_local() if isinstance(each.grad, DTensor) else each.grad for each in model.parameters()]
            largest = torch.stack([each.abs().max() for each in gradients]).max()
            for each in gradients:
                each.mul_((0.05 / (largest + 1e-6)).clamp(max=1.0))
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05, float("inf"))
        optimizer.step()
        return {"loss": loss.detach()}

    return Training(step, model, optimizer, named(data, {}))


@program(DP2, "grad_scaler_ddp")
def scaled(mesh):
    """Loss scaling: the optimizer's step is left out where a gradient is not finite."""
    model, data = mlp(), batch()
    ranks, rank = (1, 0) if mesh is None else (mesh.size(), mesh.get_rank())
    data = {name: value.chunk(ranks)[rank].clone() for name, value in data.items()}
    wrapped = model if mesh is None else nn.parallel.DistributedDataParallel(model)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.amp.GradScaler("cpu", init_scale=64.0)

    def step():
        optimizer.zero_grad()
        loss = loss_of(wrapped, **data)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return Training(step, model, optimizer, named(data, {}, rank, ranks))


@program(DP2, "zero_redundancy_optimizer")
def redundancy(mesh):
    """ZeRO 1 of torch: each rank updates some parameters and sends them to the others."""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    if mesh is None:
        return data_parallel(mesh, mlp(), batch(), loss_of, "ddp", lambda p: torch.optim.Adam(p, lr=1e-2))
    return data_parallel(mesh, mlp(), batch(), loss_of, "ddp",
                         lambda p: ZeroRedundancyOptimizer(p, optimizer_class=torch.optim.Adam, lr=1e-2))


@program(DP2, "one_cycle_schedule_fsdp")
def scheduled(mesh):
    """A schedule of learning rate and momentum that steps after the optimizer."""
    model, data = mlp(), batch()
    ranks, rank = (1, 0) if mesh is None else (mesh.size(), mesh.get_rank())
    data = {name: value.chunk(ranks)[rank].clone() for name, value in data.items()}
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=20)

    def step():
        optimizer.zero_grad()
        loss = loss_of(model, **data)
        loss.backward()
        optimizer.step()
        schedule.step()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return Training(step, model, optimizer, named(data, {}, rank, ranks))


@program(DP2, "shadow_average_ddp")
def averaged(mesh):
    """An exponential average of the weights beside the model."""
    class WithShadow(nn.Module):
        def __init__(self):
            super().__init__()
            self.live, self.shadow = mlp(), mlp()
            self.shadow.requires_grad_(False)

        def forward(self, x):
            return self.live(x)

    model = WithShadow()

    def optimizer(parameters):
        own = torch.optim.SGD([each for each in parameters if each.requires_grad], lr=0.1)
        plain = own.step

        def stepped(*args, **kwargs):
            plain(*args, **kwargs)
            with torch.no_grad():
                torch._foreach_lerp_(list(model.shadow.parameters()), list(model.live.parameters()), 0.1)

        own.step = stepped
        return own

    return data_parallel(mesh, model, batch(), loss_of, "ddp", optimizer)
