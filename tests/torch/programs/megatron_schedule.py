"""What Megatron's programs with a schedule share: microbatches, pipeline stages, experts."""
import hashlib

import torch
import torch.distributed as dist
from planproof.torch import Training, bounded, part
from planproof.torch.relations import Part
from planproof.torch.shims import megatron

from megatron_gpt import LENGTH, config
from models import VOCABULARY, text

from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads)
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func


def settings_of(mesh, **options):
    """Megatron's configuration for the groups of this process, without their sizes in the reference."""
    sizes = {}
    if mesh is not None:
        tensor = parallel_state.get_tensor_model_parallel_world_size()
        sizes = dict(tensor_model_parallel_size=tensor, sequence_parallel=tensor > 1,
                     pipeline_model_parallel_size=parallel_state.get_pipeline_model_parallel_world_size(),
                     virtual_pipeline_model_parallel_size=
                     parallel_state.get_virtual_pipeline_model_parallel_world_size(),
                     expert_model_parallel_size=parallel_state.get_expert_model_parallel_world_size())
    return config(pipeline_dtype=torch.get_default_dtype(), **sizes, **options)


def experts(mesh, dispatcher, **options):
    """Configuration of a mixture of four experts, two for each token, as in Mixtral."""
    return settings_of(
        mesh, num_moe_experts=4, moe_router_topk=2, moe_token_dispatcher_type=dispatcher,
        moe_router_load_balancing_type="none", moe_ffn_hidden_size=24, normalization="RMSNorm",
        gated_linear_unit=True, activation_func=torch.nn.functional.silu, add_bias_linear=False, **options)


def stage(settings, tied=True, salt="", place=None):
    """This rank's pipeline stage: the whole model if there is one. With another salt it has other values, and tokens go
    to other experts. `place`: which of this rank's stages, in an interleaved pipeline."""
    spec = get_gpt_layer_local_spec(num_experts=settings.num_moe_experts, moe_grouped_gemm=False,
                                    normalization=settings.normalization)
    model = GPTModel(settings, spec, VOCABULARY, LENGTH, share_embeddings_and_output_weights=tied,
                     pre_process=parallel_state.is_pipeline_first_stage(place is None, place),
                     post_process=parallel_state.is_pipeline_last_stage(place is None, place), vp_stage=place)
    return same_values(model, settings, salt)


def stages(settings, tied=True):
    """All of this rank's stages, or its one."""
    count = settings.virtual_pipeline_model_parallel_size
    return stage(settings, tied) if count is None else [stage(settings, tied, place=each) for each in range(count)]


def same_values(model, settings, salt):
    """The same values for a parameter of the whole, however it is cut: the routing of tokens depends on them."""
    find, name_of = megatron.placement(settings), megatron.rename(model)
    for name, value in model.named_parameters():
        part_of_rank = find(name, value) or Part(tuple(value.shape))
        seed = int.from_bytes(hashlib.sha256((name_of(name) + salt).encode()).digest()[:4], "big")
        whole = torch.randn(part_of_rank.of, generator=torch.Generator().manual_seed(seed)) * 0.2
        value.data.copy_(part_of_rank.of_whole(whole) + (1.0 if "norm" in name and "weight" in name else 0.0))
    return model


def microbatches(count, size=1):
    """Tokens and labels of this data parallel rank, `count` microbatches of `size` sequences, and their names. A
    microbatch of the reference is that of all ranks together."""
    ranks = parallel_state.get_data_parallel_world_size()
    rank = parallel_state.get_data_parallel_rank()
    whole_size = count * size * ranks
    rows = [[(step * ranks + rank) * size, size] for step in range(count)]
    indices = torch.cat([torch.arange(start, start + length) for start, length in rows])
    own = [each[indices].clone() for each in text(whole_size, LENGTH)]
    shape = (whole_size, LENGTH)
    names = {name: bounded(part(value, shape, [rows, [[0, LENGTH]]]), 0, VOCABULARY)
             for name, value in zip(("tokens", "labels"), own)}
    return own, names


def training(settings, model, count=1, size=1, clip=0.0, mask=None, order=1, **buckets):
    """An iteration by Megatron's own schedule, of one stage or a list of them. `mask` gives the labels that count, of the
    whole batch; without it all do. With an `order` of -1 labels are those of the microbatches from the last one on."""
    settings.finalize_model_grads_func = finalize_model_grads
    chunks = model if isinstance(model, list) else [model]
    distributed = [DistributedDataParallel(settings, DistributedDataParallelConfig(**buckets), each) for each in chunks]
    settings.no_sync_func = [each.no_sync for each in distributed] if len(chunks) > 1 else distributed[0].no_sync
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-3, weight_decay=0.01, clip_grad=clip,
                        use_distributed_optimizer=buckets.get("use_distributed_optimizer", False)),
        distributed)
    (tokens, labels), inputs = microbatches(count, size)
    counted = torch.ones(labels.shape) if mask is None else mask
    positions = torch.arange(LENGTH).expand(size, LENGTH).contiguous()
    hidden = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).triu(1)
    schedule = get_forward_backward_func()

    def forward(batches, chunk):
        own_tokens, own_labels, own_counted = next(batches)

        def loss_of(losses):
            total = (losses.view(-1) * own_counted.reshape(-1)).sum()
            number = own_counted.sum().to(torch.int)
            return total, number, torch.stack([total.detach(), number.to(torch.float)])

        return chunk(own_tokens, positions, hidden, labels=own_labels), loss_of

    def step():
        for each in distributed:
            each.zero_grad_buffer()
        optimizer.zero_grad()
        batches = [iter(zip(tokens.split(size), labels.split(size)[::order], counted.split(size))) for _ in chunks]
        reported = schedule(forward_step_func=forward, data_iterator=batches, model=distributed,
                            num_microbatches=count, seq_length=LENGTH, micro_batch_size=size,
                            forward_only=False)
        _, norm, _ = optimizer.step()
        outputs = {}
        if reported:
            total = torch.stack(reported).sum(0)
            dist.all_reduce(total, group=parallel_state.get_data_parallel_group())
            outputs["loss"] = total[0] / total[1]
        if clip:
            outputs["norm"] = torch.tensor(norm)
        return outputs

    last, first = parallel_state.is_pipeline_last_stage(), parallel_state.is_pipeline_first_stage()
    read = {"tokens": first, "labels": last}
    trained = torch.nn.ModuleList(distributed) if len(chunks) > 1 else distributed[0]
    return Training(step, trained, [each.optimizer for each in optimizer.chained_optimizers],
                    {name: value for name, value in inputs.items() if read[name]},
                    rename=megatron.rename(model), placement=megatron.placement(settings))
