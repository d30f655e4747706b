"""What the Megatron programs share: a GPT of two layers, and an iteration."""
import torch
import torch.distributed as dist
from planproof.torch import Training, bounded, reduced, shard
from planproof.torch.shims import megatron

from models import VOCABULARY, text

megatron.install()

from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads)
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402

LENGTH = 8


def start(mesh, **sizes):
    """Megatron's groups; the single-process program has groups of one."""
    if mesh is None:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        sizes = {}
    parallel_state.initialize_model_parallel(**sizes)


def config(**options):
    return TransformerConfig(**{**dict(
        num_layers=2, hidden_size=16, num_attention_heads=4, ffn_hidden_size=24,
        use_cpu_initialization=True, hidden_dropout=0.0, attention_dropout=0.0,
        bias_activation_fusion=False, bias_dropout_fusion=False, masked_softmax_fusion=False,
        gradient_accumulation_fusion=False, persist_layer_norm=False,
        params_dtype=torch.get_default_dtype()), **options})


def gpt(settings, **options):
    torch.manual_seed(0)
    spec = get_gpt_layer_local_spec(normalization=settings.normalization)
    return GPTModel(settings, spec, VOCABULARY, LENGTH, **options)


def batch():
    """Tokens and labels."""
    return text(2, LENGTH)


def whole_batch():
    """The batch, with its names."""
    whole = batch()
    return whole, {name: bounded(value, 0, VOCABULARY)
                   for name, value in zip(("tokens", "labels"), whole)}


def batch_of_rank():
    """The batch of this data parallel rank, with its names."""
    ranks = parallel_state.get_data_parallel_world_size()
    rank = parallel_state.get_data_parallel_rank()
    parts = [each.chunk(ranks)[rank].clone() for each in batch()]
    return parts, {name: bounded(shard(value, 0, rank, ranks), 0, VOCABULARY)
                   for name, value in zip(("tokens", "labels"), parts)}


def training(settings, model, clip=0.0, data=None, **buckets):
    """An iteration as Megatron's training loop has it: gradient buffers, their reduction, its optimizer with
    torch's AdamW. `data`: this rank's batch and its names; `buckets`: how gradients are reduced."""
    distributed = DistributedDataParallel(
        settings, DistributedDataParallelConfig(**buckets), model)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-3, weight_decay=0.01, clip_grad=clip,
                        use_distributed_optimizer=buckets.get("use_distributed_optimizer", False)),
        [distributed])
    (tokens, labels), inputs = data or whole_batch()
    positions = torch.arange(LENGTH).expand(len(tokens), LENGTH).contiguous()
    mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).triu(1)
    average = data is not None

    def step():
        distributed.zero_grad_buffer()
        optimizer.zero_grad()
        loss = distributed(tokens, positions, mask, labels=labels).mean()
        loss.backward()
        finalize_model_grads([distributed])
        _, norm, _ = optimizer.step()
        outputs = {"loss": reduced(loss, "avg") if average else loss}
        if clip:
            outputs["norm"] = torch.tensor(norm)
        return outputs

    return Training(step, distributed, [each.optimizer for each in optimizer.chained_optimizers],
                    inputs, placement=megatron.placement(settings))
