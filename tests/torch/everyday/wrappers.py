"""Wrappers about a model: FSDP1, activation checkpointing, torch.compile, accelerate, mixed precision, HSDP."""
import torch
from planproof.torch import Training, reduced
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from .catalog import program
from .patterns import DP2, adamw, named


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(6), nn.Linear(6, 8), nn.Linear(8, 6)

    def forward(self, x):
        return x + self.down(functional.silu(self.up(self.norm(x))))


def model_of():
    return nn.Sequential(Residual(), Residual(), nn.Linear(6, 3))


def training(mesh, model, forward=None, optimizer=None, backward=None, clip=None):
    """An iteration; `model` has been wrapped, and `forward` is what is called."""
    ranks, rank = (1, 0) if mesh is None else (mesh.size(), mesh.get_rank())
    data = {"x": torch.randn(4, 6), "y": torch.randn(4, 3)}
    data = {name: value.chunk(ranks)[rank].clone() for name, value in data.items()}
    steps = optimizer or adamw(model.parameters())

    def step():
        steps.zero_grad()
        loss = functional.mse_loss((forward or model)(data["x"]).to(data["y"].dtype), data["y"])
        (backward or torch.Tensor.backward)(loss)
        if clip is not None:
            clip()
        steps.step()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    return Training(step, model, steps, named(data, {}, rank, ranks))


@program(DP2, "fsdp1")
def fsdp1(mesh):
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = model_of()
    if mesh is not None:
        model = FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"),
                                         process_group=mesh.get_group())
    return training(mesh, model)


@program(DP2, "checkpoint_wrapper_fsdp2")
def checkpointed(mesh):
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    model = model_of()
    if mesh is not None:
        for index in (0, 1):
            model[index] = checkpoint_wrapper(model[index])
            fully_shard(model[index], mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(mesh, model)


@program(DP2, "compiled_ddp")
def compiled(mesh):
    """torch.compile of the module within DistributedDataParallel, with the backend that needs no compiler."""
    model = model_of()
    if mesh is not None:
        model = DistributedDataParallel(torch.compile(model, backend="eager"))
    return training(mesh, model)


@program(DP2, "compiled_optimizer_fsdp2")
def compiled_step(mesh):
    model = model_of()
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)
    if mesh is not None:
        optimizer.step = torch.compile(optimizer.step, backend="eager")
    return training(mesh, model, optimizer=optimizer)


@program(DP2, "bfloat16_parameters_float32_reduction_fsdp2", double=False)
def mixed(mesh):
    """FSDP2's usual mode. The reference casts its parameters in the same places."""
    model = model_of()
    if mesh is not None:
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        return training(mesh, model)

    def forward(x):
        cast = {name: value.bfloat16() for name, value in model.named_parameters()}
        return torch.func.functional_call(model, cast, (x.bfloat16(),))

    return training(mesh, model, forward)


@program({"replicate": 2, "shard": 2}, "hsdp_clip_fsdp2")
def hybrid(mesh):
    model = model_of()
    if mesh is not None:
        for layer in model:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return training(mesh, model, clip=lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1))


@program({"dp": 2, "tp": 2}, "fsdp2_over_tp_layer_norm_replicated")
def two_axes(mesh):
    """Tensor parallelism within FSDP2; LayerNorm and the head are whole on each tensor parallel rank."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = model_of()
    if mesh is None:
        return training(mesh, model)
    for index in ("0", "1"):
        parallelize_module(model, mesh["tp"], {f"{index}.up": ColwiseParallel(), f"{index}.down": RowwiseParallel()})
    for layer in (model[0].up, model[0].down, model[1].up, model[1].down):
        fully_shard(layer, mesh=mesh["dp"])
    inner = training(Row(mesh), model)
    plain = list(model[2].parameters()) + list(model[0].norm.parameters()) + list(model[1].norm.parameters())
    for each in plain:
        each.register_post_accumulate_grad_hook(
            lambda each: torch.distributed.all_reduce(each.grad.div_(2), group=mesh.get_group("dp")))
    return inner


class Row:
    """The data parallel axis of a mesh, as one mesh."""

    def __init__(self, mesh):
        self.mesh = mesh

    def size(self):
        return self.mesh["dp"].size()

    def get_rank(self):
        return self.mesh.get_local_rank("dp")


def accelerator_of(**options):
    import accelerate
    accelerate.utils.set_seed = lambda *args, **kwargs: None
    return accelerate.Accelerator(cpu=True, **options)


@program(DP2, "accelerate_prepared_ddp")
def accelerated(mesh):
    """accelerate's model, optimizer and backward; gradients are clipped by it, too."""
    model = model_of()
    optimizer = adamw(model.parameters())
    if mesh is None:
        return training(mesh, model, optimizer=optimizer, clip=lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1))
    accelerator = accelerator_of()
    wrapped, prepared = accelerator.prepare(model, optimizer)
    return training(mesh, wrapped, optimizer=prepared, backward=accelerator.backward,
                    clip=lambda: accelerator.clip_grad_norm_(wrapped.parameters(), 0.1))


@program(DP2, "accelerate_not_prepared_fault", right=False)
def not_prepared(mesh):
    """accelerate's optimizer of a model that was not prepared: nothing reduces gradients."""
    model = model_of()
    optimizer = adamw(model.parameters())
    if mesh is None:
        return training(mesh, model, optimizer=optimizer)
    accelerator = accelerator_of()
    return training(mesh, model, optimizer=accelerator.prepare(optimizer), backward=accelerator.backward)


@program(DP2, "no_sync_forgotten_fault", right=False)
def never_synchronized(mesh):
    """DistributedDataParallel called within no_sync."""
    model = model_of()
    if mesh is None:
        return training(mesh, model)
    wrapped = DistributedDataParallel(model)
    inner = training(mesh, wrapped)
    plain = inner.step

    def step():
        with wrapped.no_sync():
            return plain()

    inner.step = step
    return inner
