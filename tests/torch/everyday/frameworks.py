"""Configurations of transformers, Megatron-core, DeepSpeed and torchtitan. Frameworks are imported where a program is built."""
import os
import tempfile

import torch
import torch.distributed as dist
from planproof.torch import Training, reduced, shard

from models import VOCABULARY
from transformer import Transformer, batch_of, loss_of

from .catalog import program
from .patterns import DP2, TP2, adamw, data_parallel

SIZES = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, attention_dropout=0.0, bos_token_id=1, eos_token_id=2, pad_token_id=0)
EXPERTS = dict(num_local_experts=4, num_experts_per_tok=1)
GROUPS = dict(n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2, first_k_dense_replace=1, q_lora_rank=8, kv_lora_rank=8,
              qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=4, moe_intermediate_size=16, num_key_value_heads=4)


@program(TP2, "hf_llama_pad_token_sdpa_tp", double=False, kind="LlamaConfig")
@program(TP2, "hf_mixtral_top_one_tp", double=False, kind="MixtralConfig", more=EXPERTS)
@program(TP2, "hf_qwen2_pad_token_sdpa_tp", double=False, kind="Qwen2Config")
def by_plan(mesh, kind, more=None):
    """tp_plan="auto", and attention as from_pretrained chooses it."""
    import transformers
    from hub import training
    from transformers.distributed import DistributedConfig
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**{**SIZES, **(more or {})}))
    if mesh is not None:
        with tempfile.TemporaryDirectory() as own:
            shared = [own]
            dist.broadcast_object_list(shared)
            model.save_pretrained(shared[0])  # rank 0 does
            dist.barrier()
            model = transformers.AutoModelForCausalLM.from_pretrained(
                shared[0], distributed_config=DistributedConfig(tp_plan="auto", tp_size=mesh.size()))
            dist.barrier()
    return training(model, batch_of(None, None, 2))


@program(DP2, "hf_llama_pad_token_sdpa_fsdp2", how="fsdp", kind="LlamaConfig")
@program(DP2, "hf_deepseek_v3_groups_fsdp2", double=False, how="fsdp", kind="DeepseekV3Config", more=GROUPS)
@program(DP2, "hf_opt_ddp", how="ddp", kind="OPTConfig", only=dict(ffn_dim=24, word_embed_proj_dim=16, dropout=0.0))
@program(DP2, "hf_gpt2_accumulated", how="accumulated", kind="GPT2Config",
         only=dict(n_embd=16, n_layer=2, n_head=4, n_positions=16, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
@program(DP2, "hf_gemma2_not_reduced_fault", right=False, how="hand", fault="alone", kind="Gemma2Config",
         more=dict(head_dim=4, query_pre_attn_scalar=4, sliding_window=4))
def causal(mesh, how, kind, more=None, only=None, fault=None):
    """A causal language model of a configuration, data parallel."""
    import transformers
    common = SIZES if only is None else {key: SIZES[key] for key in ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id")}
    if kind == "OPTConfig":
        common.update({key: SIZES[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
                                                   "attention_dropout")})
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**{**common, **(more or only or {})}))
    tokens, labels, _ = batch_of(None, None, 4)
    return data_parallel(mesh, model.train(), {"tokens": tokens, "labels": labels},
                         lambda model, tokens, labels: model(input_ids=tokens, labels=labels, use_cache=False).loss, how,
                         domains={"tokens": (0, VOCABULARY), "labels": (0, VOCABULARY)}, fault=fault)


@program(DP2, "hf_llama_ignored_labels_mean_of_means_fault", right=False)
def ignored(mesh):
    """Sequences of different lengths: the model's own loss is the mean over a rank's labels."""
    import transformers
    model = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**SIZES))
    tokens, labels, _ = batch_of(None, None, 4)
    labels = labels.clone()
    labels[0, 3:] = labels[1, 5:] = labels[2, 7:] = -100
    return data_parallel(mesh, model, {"tokens": tokens, "labels": labels},
                         lambda model, tokens, labels: model(input_ids=tokens, labels=labels, use_cache=False).loss, "ddp",
                         domains={"tokens": (0, VOCABULARY), "labels": (-100, VOCABULARY)})


@program(DP2, "hf_t5_ddp", how="ddp")
def t5(mesh, how):
    import transformers
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_decoder_layers=1, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0))
    tokens, labels, _ = batch_of(None, None, 4)
    return data_parallel(mesh, model.train(), {"tokens": tokens, "labels": labels},
                         lambda model, tokens, labels: model(input_ids=tokens, labels=labels, use_cache=False).loss, how,
                         domains={"tokens": (0, VOCABULARY), "labels": (0, VOCABULARY)})


@program(DP2, "hf_bert_fsdp2")
def bert(mesh):
    import transformers
    model = transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24, max_position_embeddings=16,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    tokens, labels, _ = batch_of(None, None, 4)
    return data_parallel(mesh, model.train(), {"tokens": tokens, "labels": labels},
                         lambda model, tokens, labels: model(input_ids=tokens, labels=labels).loss, "fsdp",
                         domains={"tokens": (0, VOCABULARY), "labels": (0, VOCABULARY)})


@program(DP2, "hf_vit_ddp")
def vit(mesh):
    import transformers
    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24, image_size=8, patch_size=4, num_channels=2,
        num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    return data_parallel(mesh, model.train(), {"x": torch.randn(4, 2, 8, 8), "y": torch.tensor([0, 2, 1, 1])},
                         lambda model, x, y: torch.nn.functional.cross_entropy(model(x).logits, y), "ddp", domains={"y": (0, 3)})


# Megatron-core.

@program(TP2, "megatron_layer_tp_sp", double=False, degrees=dict(tensor_model_parallel_size=2), sequence_parallel=True)
@program(DP2, "megatron_distributed_optimizer_alone", double=False, buckets=dict(use_distributed_optimizer=True))
@program(DP2, "megatron_distributed_optimizer_overlapped_clip", double=False, clip=0.1,
         buckets=dict(use_distributed_optimizer=True, overlap_grad_reduce=True))
def megatron_layer(mesh, degrees=None, buckets=None, clip=0.0, **options):
    """The call of docs/torch.md: the single-process program has the same options."""
    from planproof.torch.shims import megatron
    megatron.install()
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer.transformer_layer import TransformerLayer
    config = megatron.start(mesh, num_layers=1, hidden_size=16, num_attention_heads=4, **(degrees or {}), **options)
    torch.manual_seed(0)
    layer = TransformerLayer(config, get_gpt_layer_local_spec().submodules)
    x = torch.randn(8, 2, 16)
    inputs = {"x": x}
    if mesh is not None and options.get("sequence_parallel"):
        rank, ranks = mesh.get_rank(), mesh.size()
        x = x.chunk(ranks)[rank].clone()
        inputs = {"x": shard(x, 0, rank, ranks)}
    elif mesh is not None and not degrees:
        rank, ranks = mesh.get_rank(), mesh.size()
        x = x.chunk(ranks, 1)[rank].clone()
        inputs = {"x": shard(x, 1, rank, ranks)}

    def loss():
        out = layer(x)[0]
        if mesh is not None and options.get("sequence_parallel"):
            from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
            out = gather_from_sequence_parallel_region(out, tensor_parallel_output_grad=False)
        return out.square().mean()

    return megatron.training(config, layer, loss, inputs, clip=clip, **(buckets or {}))


@program(DP2, "megatron_moe_top_one", double=False, moe_router_topk=1, moe_router_pre_softmax=True)
@program(DP2, "megatron_moe_groups", double=False, moe_router_num_groups=2, moe_router_group_topk=1, moe_router_score_function="sigmoid")
@program(DP2, "megatron_moe_capacity", double=False, moe_expert_capacity_factor=2.0, moe_pad_expert_input_to_capacity=True)
def megatron_experts(mesh, **options):
    """Four experts over two ranks, with the all-to-all dispatcher."""
    from megatron_gpt import start
    from megatron_schedule import settings_of, stage, training
    start(mesh, expert_model_parallel_size=2)
    settings = settings_of(mesh, **{**dict(
        num_moe_experts=4, moe_router_topk=2, moe_token_dispatcher_type="alltoall", moe_router_load_balancing_type="none",
        moe_ffn_hidden_size=24, normalization="RMSNorm", gated_linear_unit=True, activation_func=torch.nn.functional.silu,
        add_bias_linear=False), **options})
    return training(settings, stage(settings, tied=False), size=1 if mesh is not None else 2)


@program({"pp": 2}, "megatron_interleaved_pipeline", double=False)
@program({"pp": 2}, "megatron_interleaved_pipeline_labels_exchanged_fault", right=False, double=False, exchanged=True)
def megatron_interleaved(mesh, exchanged=False):
    """Two stages on each of two ranks. The fault: the last stage reads the microbatches' labels in another order than the
    first one reads their tokens."""
    from megatron_gpt import start
    from megatron_schedule import settings_of, stages, training
    start(mesh, pipeline_model_parallel_size=2, virtual_pipeline_model_parallel_size=2)
    settings = settings_of(mesh, num_layers=4)
    return training(settings, stages(settings), count=2, order=-1 if exchanged and mesh is not None else 1)


# DeepSpeed.

def engine_of(mesh, stage, model, optimizer, accumulated=1, ranks=2, **settings):
    """DeepSpeed's engine; in one process, too."""
    from planproof.torch.shims import deepspeed as shim
    shim.install()
    import deepspeed
    if mesh is None:
        os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, dist_init_required=False, config={
        "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": accumulated, "gradient_clipping": 0.0,
        "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False, "zero_optimization": {
            "stage": stage, "reduce_bucket_size": 1000, "allgather_bucket_size": 1000, "overlap_comm": False,
            "stage3_param_persistence_threshold": 0, "stage3_prefetch_bucket_size": 1000}, **settings})
    return engine, shim.Held(engine)


@program(DP2, "deepspeed_zero1_alone", double=False, stage=1)
@program(DP2, "deepspeed_zero3_alone", double=False, stage=3)
@program(DP2, "deepspeed_zero2_lion_alone", double=False, stage=2, lion=True)
@program(DP2, "deepspeed_zero2_bfloat16_alone", double=False, stage=2, bf16={"enabled": True})
@program(DP2, "deepspeed_zero2_scaled_twice_fault", double=False, right=False, stage=2, accumulated=2, fault=True)
def deepspeed(mesh, stage, lion=False, accumulated=1, fault=False, **settings):
    """The same program in one process, which is an engine, too. With the fault the loss is divided by the number of microbatches, which
    the engine does for itself."""
    from .optimizers import Lion
    model = Transformer(layers=1)
    if "bf16" in settings:
        model = torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, 8), torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, VOCABULARY))
    tokens, labels, inputs = batch_of(mesh, "dp", 2 * accumulated)
    count = accumulated if mesh is not None else 1
    engine, held = engine_of(mesh, stage, model, Lion(model.parameters()) if lion else adamw(model.parameters()), count, **settings)

    def step():
        total = torch.zeros(())
        for part, target in zip(tokens.chunk(count), labels.chunk(count)):
            loss = loss_of(engine(part).float(), target)
            engine.backward(loss / count if fault else loss)
            engine.step()
            total += loss.detach() / count
        gradients = {f"gradient of {name}": value for name, value in held.gradients().items()}
        return {"loss": total if mesh is None else reduced(total, "avg"), **gradients}

    return Training(step, held.model, held, inputs, placement=held.model.placement)


# torchtitan.

@program(DP2, "titan_llama_bfloat16_fsdp2", double=False, types="bfloat16", data_parallel_shard_degree=2)
@program({"replicate": 2, "shard": 2}, "titan_llama_hsdp_clip", double=False, clip=0.5, data_parallel_replicate_degree=2,
         data_parallel_shard_degree=2)
def titan_llama(mesh, types="float32", clip=None, **degrees):
    import titan
    plain = titan.TrainingConfig
    titan.TrainingConfig = lambda **options: plain(**{**options, "mixed_precision_param": types})
    if mesh is None and types != "float32":
        found = titan.training(mesh, titan.llama(), titan.llama3.parallelize_llama, clip, **degrees)
        return cast_in_the_same_places(found, getattr(torch, types))
    return titan.training(mesh, titan.llama(), titan.llama3.parallelize_llama, clip, **degrees)


def cast_in_the_same_places(training, kind):
    """The model called with its parameters in a type, as FSDP2 does."""
    model, plain = training.model, training.model.forward

    def forward(*args, **kwargs):
        cast = {name: value.to(kind) for name, value in model.named_parameters()}
        model.forward = plain
        try:
            return torch.func.functional_call(model, cast, args, kwargs)
        finally:
            model.forward = forward

    model.forward = forward
    return training


@program({"dp": 2, "tp": 2}, "titan_qwen_fsdp2_tp", double=False, data_parallel_shard_degree=2, tensor_parallel_degree=2)
def titan_qwen(mesh, **degrees):
    from configurations import titan_qwen as build
    return build(mesh, **degrees)


