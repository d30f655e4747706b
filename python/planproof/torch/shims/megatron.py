"""Megatron-core 0.16 without a GPU, and where its parameters lie.

    from planproof.torch.shims import megatron
    megatron.install()                       # before megatron.core is imported

    def build(mesh):
        config = megatron.start(mesh, tensor_model_parallel_size=2, num_layers=2, hidden_size=16, ...)
        model = ...
        return megatron.training(config, model, lambda: loss of model, inputs)

or, of a program that has all of this already:

    record(step, path, model=model, placement=megatron.placement(config))

What is redirected: device "cuda" and torch.cuda.current_device() are the CPU, types of tensors are those of CUDA
for code that compares them, streams and events do nothing, the random number tracker does not switch states
(switch dropout off, and initialise with use_cpu_initialization=True), functions are not compiled, and torch's
norms are used under sequence parallelism, with their parameters marked as Megatron's own norms mark them."""
from __future__ import annotations

import contextlib
import re
import sys
import warnings
from typing import Any, Callable, Dict, Mapping, Optional

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode

from planproof.errors import RecordingError
from planproof.torch.launch import Training
from planproof.torch.relations import Part, reduced

VERSION = "0.16"

_LAYER = re.compile(r"^decoder\.layers\.(\d+)")
_EXPERT = re.compile(r"\blocal_experts\.(\d+)")


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.startswith("cuda") else value


class _Redirect(TorchFunctionMode):
    """Calls of torch that name the device "cuda" mean the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.type and len(args) == 1 and not kwargs:
            return func(*args).replace("torch.", "torch.cuda.", 1)
        if "device" in kwargs:
            kwargs["device"] = _on_cpu(kwargs["device"])
        if func is torch.Tensor.to:
            args = tuple(map(_on_cpu, args))
        return func(*args, **kwargs)


#: Warnings of Megatron's that tell what the shim is for.
_EXPECTED = ("Transformer Engine and Apex are not installed", "Apex is not installed",
             "full scope is deprecated", ".*CUDA_DEVICE_MAX_CONNECTIONS")


class _Idle:
    """A stream or an event; what it records is one, too."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, _: str) -> Callable[..., "_Idle"]:
        return _Idle


_installed: Optional[_Redirect] = None


def install() -> None:
    """Redirects, for the rest of this process."""
    global _installed
    if _installed is not None:
        return
    if "megatron.core" in sys.modules:
        raise RecordingError("install the shim before megatron.core is imported")
    for message in _EXPECTED:
        warnings.filterwarnings("ignore", message, UserWarning)
    import torch._dynamo
    torch._dynamo.config.disable = True
    for name, replacement in (("current_device", lambda: torch.device("cpu")),
                              ("synchronize", lambda *_: None), ("empty_cache", lambda: None),
                              ("default_stream", _Idle), ("current_stream", _Idle),
                              ("stream", lambda _: contextlib.nullcontext()),
                              ("Stream", _Idle), ("Event", _Idle)):
        setattr(torch.cuda, name, replacement)
    _installed = _Redirect()
    _installed.__enter__()
    _patch_megatron()


def _patch_megatron() -> None:
    import megatron.core
    from megatron.core.tensor_parallel import random
    from megatron.core.transformer.moe import moe_utils, token_dispatcher
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    if not megatron.core.__version__.startswith(VERSION):
        raise RecordingError(f"the shim is for megatron-core {VERSION}, this is "
                             f"{megatron.core.__version__}")
    random.CudaRNGStatesTracker.fork = lambda *_, **__: contextlib.nullcontext()
    random._get_cuda_rng_state = lambda *_, **__: torch.zeros(0)  # recomputation saves and restores it
    random._set_cuda_rng_state = lambda *_, **__: None
    WrappedTorchNorm.__new__ = staticmethod(_norm)  # type: ignore[method-assign]
    if not moe_utils.HAVE_TE:
        moe_utils.te_general_gemm = None  # the router then multiplies with torch.mm
    token_dispatcher.maybe_move_tensor_to_cpu = _on_host


def _on_host(tensor: Any, as_numpy: bool = False, record_stream: bool = False) -> Any:
    """Sizes of an all-to-all, as they are when they have left a GPU."""
    return tensor.numpy() if as_numpy and isinstance(tensor, torch.Tensor) else tensor


def _norm(_: type, config: Any, hidden_size: int, eps: float = 1e-5, **__: Any) -> torch.nn.Module:
    """torch's norm; its parameters' gradients are summed over the sequence's parts if they are marked."""
    kinds = {"LayerNorm": torch.nn.LayerNorm, "RMSNorm": torch.nn.RMSNorm}
    norm: torch.nn.Module = kinds[config.normalization](hidden_size, eps=eps)
    for parameter in norm.parameters():
        parameter.sequence_parallel = config.sequence_parallel  # type: ignore[attr-defined]
    return norm


#: What takes part in parallelism, and is left out in the single-process program.
_DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size",
            "virtual_pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
            "expert_tensor_parallel_size")
#: What runs on the CPU, and the same twice.
_DEFAULTS: Dict[str, Any] = dict(
    use_cpu_initialization=True, hidden_dropout=0.0, attention_dropout=0.0, bias_activation_fusion=False,
    bias_dropout_fusion=False, masked_softmax_fusion=False, gradient_accumulation_fusion=False,
    persist_layer_norm=False)


def start(mesh: Any, **options: Any) -> Any:
    """Makes Megatron's groups and the TransformerConfig of `options`, with dropout and fusions switched off. Where the
    mesh is None, the single-process program, there are groups of one rank, and degrees of parallelism are left out."""
    from megatron.core import parallel_state
    from megatron.core.transformer import TransformerConfig

    degrees = {key: options.pop(key) for key in _DEGREES if key in options}
    if mesh is None:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        options.pop("sequence_parallel", None)
        degrees = {}
    parallel_state.initialize_model_parallel(**degrees)
    return TransformerConfig(**{**_DEFAULTS, **options, **degrees})


def training(config: Any, model: torch.nn.Module, loss: Callable[[], torch.Tensor],
             inputs: Mapping[str, Any], *, clip: float = 0.0, **buckets: Any) -> Training:
    """An iteration as Megatron's training loop has it: `loss` of the model, gradient buffers, their reduction over
    data parallel ranks, and its optimizer with torch's AdamW. The loss is the mean of the data parallel ranks'.
    `buckets` are options of DistributedDataParallelConfig; `clip` is the norm at which gradients are clipped. Pipelines
    and layers of experts have names of their own: give the result `rename=megatron.rename(model)`."""
    from megatron.core import parallel_state
    from megatron.core.distributed import (
        DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads)
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

    distributed = DistributedDataParallel(config, DistributedDataParallelConfig(**buckets), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(
        optimizer="adam", lr=1e-3, weight_decay=0.01, clip_grad=clip,
        use_distributed_optimizer=buckets.get("use_distributed_optimizer", False)), [distributed])
    group = dist.get_process_group_ranks(parallel_state.get_data_parallel_group())

    def step() -> Dict[str, Any]:
        distributed.zero_grad_buffer()
        optimizer.zero_grad()
        value = loss()
        value.backward()
        finalize_model_grads([distributed])
        _, norm, _ = optimizer.step()
        outputs: Dict[str, Any] = {"loss": value if len(group) == 1 else reduced(value, "avg", group)}
        if clip:
            outputs["norm"] = torch.tensor(norm)
        return outputs

    return Training(step, distributed, [each.optimizer for each in optimizer.chained_optimizers],
                    inputs, placement=placement(config))


def placement(config: Any) -> Callable[[str, torch.Tensor], Optional[Part]]:
    """Where parameters lie, by Megatron's attributes: cut along `partition_dim` over the tensor parallel group, those
    of experts over the experts' own. The first layer of a gated MLP holds its part of the gate and its part of the
    rest, one after the other."""
    from megatron.core import parallel_state

    def find(name: str, parameter: torch.Tensor) -> Optional[Part]:
        sinks = name.endswith("softmax_offset")  # one for each head, and not marked
        if not sinks and not getattr(parameter, "tensor_model_parallel", False):
            return None
        group = parallel_state.get_expert_tensor_parallel_group() if _EXPERT.search(name) \
            else parallel_state.get_tensor_model_parallel_group()
        ranks, rank = dist.get_world_size(group), dist.get_rank(group)
        dim = 0 if sinks else parameter.partition_dim  # type: ignore[attr-defined]
        pieces = 2 if config.gated_linear_unit and "linear_fc1" in name else 1
        return cut(parameter.shape, dim, rank, ranks, pieces)

    return find


def rename(model: Any) -> Callable[[str], str]:
    """Names of a rank's modules and parameters in the whole model: layers are counted from the first pipeline stage,
    experts over all ranks, and a last stage's copy of the tied embedding is the embedding. Of an interleaved pipeline
    `model` is the list of a rank's stages, and names begin with a stage's place there, as in a ModuleList."""
    if isinstance(model, (list, tuple, torch.nn.ModuleList)):
        stages = [rename(stage) for stage in model]

        def find_in_stage(name: str) -> str:
            stage, _, rest = name.partition(".")
            return stages[int(stage)](rest.removeprefix("module."))  # of DistributedDataParallel

        return find_in_stage
    from megatron.core import parallel_state

    layers = [layer.layer_number - 1 for layer in model.decoder.layers]
    expert_rank = parallel_state.get_expert_model_parallel_rank()
    experts = model.config.num_moe_experts or 0
    first = expert_rank * (experts // parallel_state.get_expert_model_parallel_world_size())
    tied = model.share_embeddings_and_output_weights

    def find(name: str) -> str:
        if tied and name == "output_layer.weight":
            return "embedding.word_embeddings.weight"
        name = _LAYER.sub(lambda found: f"decoder.layers.{layers[int(found[1])]}", name)
        return _EXPERT.sub(lambda found: f"local_experts.{first + int(found[1])}", name)

    return find


def cut(shape: Any, dim: int, rank: int, ranks: int, pieces: int = 1) -> Part:
    """The part of one rank if each of `pieces` equal pieces along `dim` is cut over all ranks."""
    of = [int(size) for size in shape]
    length = of[dim] // pieces
    of[dim] *= ranks
    place = [[[0, size]] for size in of]
    place[dim] = [[piece * length * ranks + rank * length, length] for piece in range(pieces)]
    return Part(tuple(of), place)
