"""Configurations that `programs` has not: what hunt.py records. CONFIGURATIONS has meshes and builders by name.

Builders import their framework when they are called, in a process of their own."""
from functools import partial

CONFIGURATIONS = {}


def add(name, mesh, build, **options):
    """A configuration; `build(mesh, **options)` is called in a rank."""
    assert name not in CONFIGURATIONS, name
    CONFIGURATIONS[name] = mesh, partial(build, **options)


# transformers, by tp_plan="auto" and by FSDP2.

def hugging(mesh, kind, sizes=None, sequence=False, **options):
    import transformers
    from hub import SIZES, tensor_parallel
    config = getattr(transformers, kind)(**{**SIZES, **(sizes or {})}, **options)
    return tensor_parallel(config, mesh, **({"enable_sequence_parallel": True} if sequence else {}))


def hugging_base(mesh, kind, sizes=None, **options):
    """The model below the head, whose result is squared: of configurations without a causal language model."""
    import tempfile

    import torch
    import torch.distributed as dist
    import transformers
    from hub import SIZES
    from planproof.torch import Training
    from transformer import batch_of
    from transformers.distributed import DistributedConfig
    config = getattr(transformers, kind)(**{**SIZES, **(sizes or {})}, **options)
    model = transformers.AutoModel.from_config(config, dtype=torch.get_default_dtype(), attn_implementation="eager")
    if mesh is not None:
        with tempfile.TemporaryDirectory() as own:
            shared = [own]
            dist.broadcast_object_list(shared)
            model.save_pretrained(shared[0])  # rank 0 does
            dist.barrier()
            model = transformers.AutoModel.from_pretrained(
                shared[0], attn_implementation="eager",
                distributed_config=DistributedConfig(tp_plan="auto", tp_size=mesh.size()))
            dist.barrier()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens, _, inputs = batch_of(None, None)

    def step():
        optimizer.zero_grad()
        loss = model(input_ids=tokens, use_cache=False).last_hidden_state.pow(3).mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training(step, model, optimizer, {"tokens": inputs["tokens"]})


def hugging_sharded(mesh, kind, whole=False, reshard=None, sizes=None, **options):
    """`whole`: one FSDP module; `reshard`: reshard_after_forward."""
    import transformers
    from hub import SIZES, causal_model, training
    from torch.distributed.fsdp import fully_shard
    from transformer import batch_of
    model = causal_model(getattr(transformers, kind)(**{**SIZES, **(sizes or {})}, **options))
    if mesh is not None:
        settings = {} if reshard is None else {"reshard_after_forward": reshard}
        base = getattr(model, model.base_model_prefix)
        for layer in () if whole else base.layers:
            fully_shard(layer, mesh=mesh, **settings)
        fully_shard(model, mesh=mesh, **settings)
    return training(model, batch_of(mesh, "dp", 4), average=mesh is not None)


WIDE = dict(num_attention_heads=8, num_key_value_heads=4, hidden_size=32)
MODELS = {
    "phi3": ("Phi3Config", {}), "granite": ("GraniteConfig", {}),
    "granite_scaled": ("GraniteConfig", dict(embedding_multiplier=3.0, residual_multiplier=0.22,
                                             logits_scaling=4.0, attention_multiplier=0.3)),
    "glm": ("GlmConfig", dict(head_dim=4)), "glm4": ("Glm4Config", dict(head_dim=4)),
    "starcoder2": ("Starcoder2Config", dict(residual_dropout=0.0, embedding_dropout=0.0)),
    "olmo": ("OlmoConfig", {}), "olmo_clip": ("OlmoConfig", dict(clip_qkv=0.01)),
    "olmo2": ("Olmo2Config", {}), "olmo3": ("Olmo3Config", dict(sliding_window=4)),
    "smollm3": ("SmolLM3Config", {}),
    "gemma": ("GemmaConfig", dict(head_dim=4)),
    "gemma3": ("Gemma3TextConfig", dict(head_dim=4, query_pre_attn_scalar=4, sliding_window=4)),
    "gpt_neox": ("GPTNeoXConfig", {}), "cohere": ("CohereConfig", {}), "cohere2": ("Cohere2Config", {}),
    "ministral": ("MinistralConfig", dict(sliding_window=4, head_dim=4)), "phi": ("PhiConfig", {}),
    "nemotron": ("NemotronConfig", {}), "helium": ("HeliumConfig", dict(head_dim=4)),
    "exaone4": ("Exaone4Config", {}), "ernie4_5": ("Ernie4_5Config", dict(head_dim=4)),
    "seed_oss": ("SeedOssConfig", dict(head_dim=4, residual_dropout=0.0)), "arcee": ("ArceeConfig", {}),
    "apertus": ("ApertusConfig", {}), "olmoe": ("OlmoeConfig", dict(num_experts=4, num_experts_per_tok=2)),
    "qwen2_moe": ("Qwen2MoeConfig", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                                         shared_expert_intermediate_size=16)),
    "qwen3_next": ("Qwen3NextConfig", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                                           shared_expert_intermediate_size=16, head_dim=4,
                                           linear_num_value_heads=4, linear_num_key_heads=2,
                                           linear_key_head_dim=4, linear_value_head_dim=4)),
    "granitemoe": ("GraniteMoeConfig", dict(num_local_experts=4, num_experts_per_tok=2)),
    "deepseek_v3": ("DeepseekV3Config", dict(
        n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1,
        q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=4,
        moe_intermediate_size=16, sizes=dict(num_key_value_heads=4))),
    "cohere_qk_norm": ("CohereConfig", dict(use_qk_norm=True)),
    "glm4_moe": ("Glm4MoeConfig", dict(head_dim=4, use_qk_norm=True, n_routed_experts=4, num_experts_per_tok=2, n_group=1,
                                       topk_group=1, first_k_dense_replace=1, moe_intermediate_size=16)),
    "doge": ("DogeConfig", {}),
    "minimax_m2": ("MiniMaxM2Config", dict(num_local_experts=4, num_experts_per_tok=2, head_dim=4)),
    "flex_olmo": ("FlexOlmoConfig", dict(num_experts=4, num_experts_per_tok=2)),
    "dots1": ("Dots1Config", dict(n_shared_experts=1, routed_scaling_factor=1.0, n_routed_experts=4,
                                  num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, moe_intermediate_size=16, head_dim=4)),
    "jais2": ("Jais2Config", {}), "iquestcoder": ("IQuestCoderConfig", {}), "cwm": ("CwmConfig", dict(head_dim=4)),
    "hyperclovax": ("HyperCLOVAXConfig", {}), "internlm3": ("InternLM3Config", dict(head_dim=4)),
    "vaultgemma": ("VaultGemmaConfig", dict(head_dim=4, query_pre_attn_scalar=4, sliding_window=4)),
    "nanochat": ("NanoChatConfig", {}),
    "mimo_v2_flash": ("MiMoV2FlashConfig", dict(n_routed_experts=4, num_experts_per_tok=2)),
    "solar_open": ("SolarOpenConfig", dict(n_routed_experts=4, num_experts_per_tok=2, head_dim=4)),
    "minicpm3": ("MiniCPM3Config", dict(q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4,
                                        v_head_dim=4, sizes=dict(num_key_value_heads=4))),
    "llama_tied": ("LlamaConfig", dict(tie_word_embeddings=True)),
    "llama_bias": ("LlamaConfig", dict(attention_bias=True, mlp_bias=True)),
    "llama_relu": ("LlamaConfig", dict(hidden_act="relu")),
}
for key, (kind, options) in MODELS.items():
    add(f"hf_{key}_tp2", {"tp": 2}, hugging, kind=kind, **options)
for key in ("phi3", "glm4", "starcoder2", "olmo2", "smollm3", "gemma3", "gpt_neox", "granite", "cohere2", "qwen2_moe"):
    kind, options = MODELS[key]  # none of these says sizes of its own
    add(f"hf_{key}_tp4", {"tp": 4}, hugging, kind=kind, sizes=WIDE, **options)
    add(f"hf_{key}_fsdp2", {"dp": 2}, hugging_sharded, kind=kind, **options)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, head_dim=4)
add("hf_qwen3_base_tp2", {"tp": 2}, hugging_base, kind="Qwen3Config", head_dim=4)
add("hf_qwen3_vl_moe_text_tp2", {"tp": 2}, hugging_base, kind="Qwen3VLMoeTextConfig", **EXPERTS)
add("hf_qwen3_vl_moe_text_dense_tp2", {"tp": 2}, hugging_base, kind="Qwen3VLMoeTextConfig",
    mlp_only_layers=[0, 1], **EXPERTS)
add("hf_glm_ocr_text_tp2", {"tp": 2}, hugging_base, kind="GlmOcrTextConfig", head_dim=4,
    rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[1, 1, 0], partial_rotary_factor=1.0))
add("hf_glm4_moe_dense_tp2", {"tp": 2}, hugging, kind="Glm4MoeConfig", head_dim=4, use_qk_norm=True,
    n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=2)
add("hf_llama_tp2_odd_vocabulary", {"tp": 2}, hugging, kind="LlamaConfig", sizes=dict(vocab_size=33))
add("hf_llama_tp3_uneven", {"tp": 3}, hugging, kind="LlamaConfig",
    sizes=dict(num_attention_heads=6, num_key_value_heads=3, hidden_size=24, intermediate_size=24))
add("hf_llama_tp4_one_kv_head", {"tp": 4}, hugging, kind="LlamaConfig",
    sizes=dict(num_attention_heads=4, num_key_value_heads=1))
add("hf_llama_tp8", {"tp": 8}, hugging, kind="LlamaConfig",
    sizes=dict(num_attention_heads=8, num_key_value_heads=8, hidden_size=32))
add("hf_llama_tp2_four_layers", {"tp": 2}, hugging, kind="LlamaConfig", sizes=dict(num_hidden_layers=4))
for reshard in (False, True):
    add(f"hf_llama_fsdp2_reshard_{reshard}", {"dp": 2}, hugging_sharded, kind="LlamaConfig", reshard=reshard)
add("hf_llama_fsdp4_reshard_2", {"dp": 4}, hugging_sharded, kind="LlamaConfig", reshard=2)
add("hf_llama_fsdp2_whole", {"dp": 2}, hugging_sharded, kind="LlamaConfig", whole=True)
add("hf_llama_fsdp3_uneven", {"dp": 4}, hugging_sharded, kind="LlamaConfig", sizes=dict(vocab_size=33, intermediate_size=26))


# The tiny transformer of `programs`.

def plain(mesh, tensor=None, data=None, sequence=False, size=4, clip=None, wrap=None, sizes=None, **options):
    """Tensor parallelism over the axis `tensor`, FSDP2 with `options` or DistributedDataParallel over `data`."""
    import torch
    from torch.distributed.fsdp import fully_shard
    from transformer import Transformer, batch_of, sequence_parallel, tensor_parallel, training
    model = Transformer(**(sizes or {}))
    inner = mesh and data and mesh[data]
    batch = batch_of(inner, "dp" if data else None, size)
    if mesh is not None:
        if tensor:
            (sequence_parallel if sequence else tensor_parallel)(model, mesh[tensor])
        if wrap == "ddp":
            model = torch.nn.parallel.DistributedDataParallel(
                model, process_group=inner.get_group(), **options)
        elif data:
            for layer in model.layers:
                fully_shard(layer, mesh=inner, **options)
            fully_shard(model, mesh=inner, **options)
    return training(model, batch, average=mesh is not None and bool(data), clip=clip, loss=loss_of_any)


def loss_of_any(logits, labels):
    """Whatever the vocabulary is."""
    from torch.nn import functional
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


add("plain_tp4", {"tp": 4}, plain, tensor="tp")
add("plain_tp4_sp", {"tp": 4}, plain, tensor="tp", sequence=True)
add("plain_tp4_sp_clip", {"tp": 4}, plain, tensor="tp", sequence=True, clip=0.5)
add("plain_tp2_odd_vocabulary", {"tp": 2}, plain, tensor="tp", sizes=dict(vocabulary=33))
add("plain_tp2_sp_odd_vocabulary", {"tp": 2}, plain, tensor="tp", sequence=True, sizes=dict(vocabulary=33))
add("plain_tp2_one_layer", {"tp": 2}, plain, tensor="tp", sizes=dict(layers=1))
add("plain_tp2_six_layers", {"tp": 2}, plain, tensor="tp", sizes=dict(layers=6))
add("plain_dp4_tp2_sp", {"dp": 4, "tp": 2}, plain, data="dp", tensor="tp", sequence=True)
add("plain_dp2_tp4_sp_clip", {"dp": 2, "tp": 4}, plain, data="dp", tensor="tp", sequence=True, clip=0.5)
add("plain_tp2_dp2_inner", {"tp": 2, "dp": 2}, plain, data="dp", tensor="tp", sequence=True)
add("plain_ddp3", {"dp": 3}, plain, data="dp", wrap="ddp", size=3)
add("plain_ddp4_small_buckets", {"dp": 4}, plain, data="dp", wrap="ddp", bucket_cap_mb=0.001)
add("plain_ddp2_views", {"dp": 2}, plain, data="dp", wrap="ddp", gradient_as_bucket_view=True)
add("plain_ddp2_static", {"dp": 2}, plain, data="dp", wrap="ddp", static_graph=True)
for ranks in (3, 5, 8):
    add(f"plain_fsdp{ranks}", {"dp": ranks}, plain, data="dp", size=ranks)
add("plain_fsdp2_keep", {"dp": 2}, plain, data="dp", reshard_after_forward=False)
add("plain_fsdp4_reshard_2", {"dp": 4}, plain, data="dp", reshard_after_forward=2)
add("plain_fsdp4_clip", {"dp": 4}, plain, data="dp", clip=0.5)


def mixed(mesh, **policy):
    """FSDP2 with mixed precision."""
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy
    types = {key: getattr(torch, value) for key, value in policy.items()}
    return plain(mesh, data="dp", mp_policy=MixedPrecisionPolicy(**types))


add("plain_fsdp2_bfloat16_reduced_float32", {"dp": 2}, mixed, reduce_dtype="float32")
add("plain_fsdp2_float64", {"dp": 2}, mixed, reduce_dtype="float64")


def accumulated(mesh, every=True):
    """FSDP2 of two microbatches; `every`: gradients are reduced each time, or with the last one only."""
    import torch
    from planproof.torch import Training, reduced
    from torch.distributed.fsdp import fully_shard
    from transformer import Transformer, batch_of, loss_of
    model = Transformer()
    tokens, labels, inputs = batch_of(mesh, "dp", 4)
    if mesh is not None:
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)

    def step():
        optimizer.zero_grad()
        total = torch.zeros(())
        count = 1 if mesh is None else 2
        for index, (part, target) in enumerate(zip(tokens.chunk(count), labels.chunk(count))):
            if mesh is not None:
                model.set_requires_gradient_sync(every or index == count - 1)
            loss = loss_of(model(part), target) / count
            loss.backward()
            total += loss.detach()
        optimizer.step()
        return {"loss": total if mesh is None else reduced(total, "avg")}

    return Training(step, model, optimizer, inputs)


add("plain_fsdp2_accumulated", {"dp": 2}, accumulated)
add("plain_fsdp2_accumulated_at_the_end", {"dp": 2}, accumulated, every=False)


def optimized(mesh, kind, **options):
    """FSDP2 with another optimizer."""
    import torch
    from planproof.torch import Training, reduced
    training = plain(mesh, data="dp")
    optimizer = getattr(torch.optim, kind)(training.model.parameters(), **options)
    tokens, labels = (training.inputs[name].held.tensor for name in ("tokens", "labels"))

    def step():
        optimizer.zero_grad()
        loss = loss_of_any(training.model(tokens), labels)
        loss.backward()
        optimizer.step()
        return {"loss": loss if mesh is None else reduced(loss, "avg")}

    return Training(step, training.model, optimizer, training.inputs)


for kind, options in (("SGD", dict(lr=0.1)), ("Adam", dict(amsgrad=True)), ("AdamW", dict(foreach=False)),
                      ("AdamW", dict(fused=True)), ("Adagrad", {}), ("RMSprop", dict(momentum=0.9)),
                      ("NAdam", {}), ("RAdam", {}), ("Adamax", {}), ("Adadelta", {}), ("Rprop", {}),
                      ("ASGD", {})):
    name = "_".join([kind.lower(), *map(str, options)])
    add(f"fsdp2_{name}", {"dp": 2}, optimized, kind=kind, **options)


# Megatron-core.

def megatron_gpt(mesh, sizes=None, model=None, clip=0.0, data=False, **options):
    """`sizes` of the groups, `options` of the configuration, `model` options of GPTModel."""
    from megatron_gpt import batch_of_rank, config, gpt, start, training
    buckets = {key: options.pop(key) for key in list(options) if key in BUCKETS}
    functions(options)
    sizes = sizes or {"tensor_model_parallel_size": 2}
    start(mesh, **sizes)
    if mesh is not None:
        options.update(sizes)
    else:
        options.pop("sequence_parallel", None)
    settings = config(**options)
    batch = None
    if data:
        from megatron_gpt import whole_batch
        batch = whole_batch() if mesh is None else batch_of_rank()
    if mesh is None:
        buckets = {}
    return training(settings, gpt(settings, **(model or {})), clip, batch, **buckets)


BUCKETS = ("overlap_grad_reduce", "use_distributed_optimizer", "average_in_collective", "grad_reduce_in_fp32",
           "bucket_size", "overlap_param_gather", "gradient_reduce_div_fusion")


def functions(options):
    """Names of activation functions as functions."""
    if isinstance(options.get("activation_func"), str):
        import torch
        from megatron.core.activations import squared_relu
        options["activation_func"] = {"silu": torch.nn.functional.silu, "relu": torch.nn.functional.relu,
                                      "squared_relu": squared_relu}[options["activation_func"]]


TP4 = dict(tensor_model_parallel_size=4)
LLAMA = dict(normalization="RMSNorm", gated_linear_unit=True, activation_func="silu", num_query_groups=2,
             add_bias_linear=False)
ROTARY = dict(position_embedding_type="rope")
UNTIED = dict(share_embeddings_and_output_weights=False)
SP = dict(sequence_parallel=True)
for key, mesh, options in (
        ("tp4", {"tp": 4}, dict(sizes=TP4)), ("tp4_sp", {"tp": 4}, dict(sizes=TP4, **SP)),
        ("untied", {"tp": 2}, dict(model=UNTIED)), ("untied_sp", {"tp": 2}, dict(model=UNTIED, **SP)),
        ("rope_half", {"tp": 2}, dict(model=dict(rotary_percent=0.5, **ROTARY))),
        ("rope_interleaved", {"tp": 2}, dict(model=ROTARY, rotary_interleaved=True)),
        ("no_positions", {"tp": 2}, dict(model=dict(position_embedding_type="none"))),
        ("llama_sp_tied", {"tp": 2}, dict(model=ROTARY, **LLAMA, **SP)),
        ("squared_relu", {"tp": 2}, dict(activation_func="squared_relu")),
        ("relu_sp", {"tp": 2}, dict(activation_func="relu", **SP)),
        ("qkv_bias", {"tp": 2}, dict(add_bias_linear=False, add_qkv_bias=True)),
        ("qk_norm", {"tp": 2}, dict(qk_layernorm=True)), ("qk_norm_sp", {"tp": 2}, dict(qk_layernorm=True, **SP)),
        ("post_norm_residual", {"tp": 2}, dict(apply_residual_connection_post_layernorm=True)),
        ("query_key_scaling", {"tp": 2}, dict(apply_query_key_layer_scaling=True)),
        ("residual_fp32", {"tp": 2}, dict(fp32_residual_connection=True)),
        ("softmax_off_by_one", {"tp": 2}, dict(softmax_type="off-by-one")),
        ("softmax_learnable", {"tp": 2}, dict(softmax_type="learnable")),
        ("attention_gate", {"tp": 2}, dict(attention_output_gate=True)),
        ("recompute_full", {"tp": 2}, dict(recompute_granularity="full", recompute_method="uniform",
                                           recompute_num_layers=1)),
        ("recompute_selective_sp", {"tp": 2}, dict(recompute_granularity="selective", **SP)),
        ("recompute_full_sp", {"tp": 2}, dict(recompute_granularity="full", recompute_method="block",
                                              recompute_num_layers=1, **SP)),
        ("four_layers", {"tp": 2}, dict(num_layers=4)), ("one_layer", {"tp": 2}, dict(num_layers=1)),
        ("wide_heads", {"tp": 2}, dict(kv_channels=8)), ("one_group", {"tp": 2}, dict(num_query_groups=2)),
        ("group_per_rank_tp4", {"tp": 4}, dict(sizes=TP4, num_attention_heads=8, hidden_size=32, num_query_groups=4)),
        ("dp_tp", {"dp": 2, "tp": 2}, dict(data=True)), ("dp_tp_sp", {"dp": 2, "tp": 2}, dict(data=True, **SP)),
        ("dp_tp_sp_clip", {"dp": 2, "tp": 2}, dict(data=True, clip=0.1, **SP)),
        ("dp_overlap", {"dp": 2}, dict(data=True, sizes={"tensor_model_parallel_size": 1}, overlap_grad_reduce=True)),
        ("dp_average", {"dp": 2}, dict(data=True, sizes={"tensor_model_parallel_size": 1},
                                       average_in_collective=True)),
        ("dp_small_buckets", {"dp": 2}, dict(data=True, sizes={"tensor_model_parallel_size": 1}, bucket_size=500,
                                             overlap_grad_reduce=True)),
        ("optimizer_dp_overlap", {"dp": 2}, dict(data=True, sizes={"tensor_model_parallel_size": 1},
                                                 use_distributed_optimizer=True, overlap_grad_reduce=True)),
        ("optimizer_dp_clip", {"dp": 2}, dict(data=True, sizes={"tensor_model_parallel_size": 1}, clip=0.1,
                                              use_distributed_optimizer=True)),
        ("optimizer_dp_tp", {"dp": 2, "tp": 2}, dict(data=True, use_distributed_optimizer=True)),
        ("llama_dp_tp_sp_untied_clip", {"dp": 2, "tp": 2}, dict(model={**ROTARY, **UNTIED}, data=True, clip=0.1,
                                                                **LLAMA, **SP))):
    add(f"megatron_{key}", mesh, megatron_gpt, **options)


def megatron_schedule(mesh, sizes, dispatcher=None, count=1, clip=0.0, tied=True, scheduled=None, **options):
    """Pipelines, and mixtures of experts with a `dispatcher`, by Megatron's schedules."""
    from megatron_gpt import start
    from megatron_schedule import experts, settings_of, stages, training
    functions(options)
    start(mesh, **sizes)
    settings = settings_of(mesh, **options) if dispatcher is None else experts(mesh, dispatcher, **options)
    size = 1
    if mesh is None:
        size = scheduled or 1
    return training(settings, stages(settings, tied), count=count, size=size, clip=clip)


PP2, PP4 = dict(pipeline_model_parallel_size=2), dict(pipeline_model_parallel_size=4)
EP2 = dict(expert_model_parallel_size=2)
for key, mesh, options in (
        ("pp2_four_layers", {"pp": 2}, dict(sizes=PP2, count=2, num_layers=4)),
        ("pp4", {"pp": 4}, dict(sizes=PP4, count=4, num_layers=4)),
        ("pp2_interleaved", {"pp": 2}, dict(sizes={**PP2, "virtual_pipeline_model_parallel_size": 2}, count=2, num_layers=4)),
        ("pp4_untied_clip", {"pp": 4}, dict(sizes=PP4, count=2, num_layers=4, tied=False, clip=0.1)),
        ("pp2_three_microbatches", {"pp": 2}, dict(sizes=PP2, count=3)),
        ("pp2_dp2", {"pp": 2, "dp": 2}, dict(sizes=PP2, count=2, scheduled=2)),
        ("pp2_llama", {"pp": 2}, dict(sizes=PP2, count=2, tied=False, normalization="RMSNorm", gated_linear_unit=True,
                                      activation_func="silu", add_bias_linear=False)),
        ("moe_pre_softmax", {"dp": 2}, dict(sizes=EP2, dispatcher="allgather", tied=False, scheduled=2,
                                            moe_router_pre_softmax=True)),
        ("moe_dp_only", {"dp": 2}, dict(sizes={}, dispatcher="allgather", tied=False, scheduled=2)),
        ("moe_sigmoid", {"dp": 2}, dict(sizes={}, dispatcher="alltoall", tied=False, scheduled=2,
                                        moe_router_score_function="sigmoid")),
        ("moe_shared_expert", {"dp": 2}, dict(sizes={}, dispatcher="alltoall", tied=False, scheduled=2,
                                              moe_shared_expert_intermediate_size=16)),
        ("moe_tp_only", {"tp": 2}, dict(sizes={"tensor_model_parallel_size": 2}, dispatcher="allgather", tied=False))):
    add(f"megatron_{key}", mesh, megatron_schedule, **options)


# DeepSpeed.

def zero(mesh, stage, clip=0.0, accumulated=1, **options):
    """ZeRO with options of `zero_optimization`."""
    import zero as shared
    plain_initialize = shared.deepspeed.initialize

    def initialize(config, **more):
        config["zero_optimization"].update(options)
        return plain_initialize(config=config, **more)

    shared.deepspeed.initialize = initialize
    return shared.training(mesh, stage, clip, accumulated)


for stage in (1, 2, 3):
    for key, value in (("overlap_comm", True), ("contiguous_gradients", False), ("round_robin_gradients", True),
                       ("reduce_scatter", False), ("reduce_bucket_size", 50), ("allgather_partitions", False),
                       ("stage3_param_persistence_threshold", 100), ("stage3_prefetch_bucket_size", 10)):
        if ("stage3" in key) <= (stage == 3) and not (stage == 3 and key in (
                "round_robin_gradients", "allgather_partitions")):
            add(f"zero{stage}_{key}_{value}", {"dp": 2}, zero, stage=stage, **{key: value})
add("zero1_clip", {"dp": 2}, zero, stage=1, clip=0.1)
add("zero2_accumulated", {"dp": 2}, zero, stage=2, accumulated=2)
add("zero3_accumulated", {"dp": 2}, zero, stage=3, accumulated=2)
add("zero0_clip_accumulated", {"dp": 2}, zero, stage=0, clip=0.1, accumulated=2)


# torchtitan.

def titan(mesh, sizes=None, tied=False, clip=None, **degrees):
    import titan as shared
    from torchtitan.models.llama3 import _build_llama3_layers
    from torchtitan.models.common import ComplexRoPE
    settings = shared.llama()
    if sizes:
        given = dict(n_layers=2, dim=16, n_heads=4, n_kv_heads=2, hidden_dim=24, attn_backend="flex")
        given.update(sizes)
        settings.layers = _build_llama3_layers(
            rope=ComplexRoPE.Config(dim=16 // given["n_heads"], max_seq_len=8, theta=10000), **given)
    return shared.training(mesh, settings, shared.llama3.parallelize_llama, clip, **degrees)


def titan_deepseek(mesh, **degrees):
    import titan as shared
    return shared.training(mesh, shared.deepseek(), shared.deepseek_v3.parallelize_deepseekv3, **degrees)


def titan_qwen(mesh, clip=None, **degrees):
    import titan as shared
    from torchtitan.models import qwen3
    from torchtitan.models.common import CosSinRoPE, Embedding, Linear, RMSNorm
    settings = qwen3.Qwen3Model.Config(
        dim=16, vocab_size=32,
        tok_embeddings=Embedding.Config(num_embeddings=32, embedding_dim=16, param_init=qwen3._EMBEDDING_INIT),
        norm=RMSNorm.Config(normalized_shape=16, param_init=qwen3._NORM_INIT),
        lm_head=Linear.Config(in_features=16, out_features=32, param_init=qwen3._LINEAR_INIT),
        layers=qwen3._build_qwen3_layers(
            n_layers=2, dim=16, n_heads=4, n_kv_heads=2, head_dim=4, hidden_dim=24, attn_backend="flex",
            rope=CosSinRoPE.Config(dim=4, max_seq_len=8, theta=10000)))
    return shared.training(mesh, settings, qwen3.parallelize_qwen3, clip, **degrees)


SHARD, TENSOR = "data_parallel_shard_degree", "tensor_parallel_degree"
add("titan_llama_fsdp4", {"dp": 4}, titan, **{SHARD: 4})
add("titan_llama_hsdp", {"replicate": 2, "shard": 2}, titan, data_parallel_replicate_degree=2, **{SHARD: 2})
add("titan_llama_ddp", {"dp": 2}, titan, data_parallel_replicate_degree=2, **{SHARD: 1})
add("titan_llama_tp4", {"tp": 4}, titan, sizes=dict(n_kv_heads=4), **{SHARD: 1, TENSOR: 4})
add("titan_llama_tp2_mha", {"tp": 2}, titan, sizes=dict(n_kv_heads=4, n_layers=3), **{SHARD: 1, TENSOR: 2})
add("titan_llama_fsdp2_never", {"dp": 2}, titan, fsdp_reshard_after_forward="never", **{SHARD: 2})
add("titan_llama_fsdp2_always", {"dp": 2}, titan, fsdp_reshard_after_forward="always", **{SHARD: 2})
add("titan_llama_dp2_tp2_never", {"dp": 2, "tp": 2}, titan, fsdp_reshard_after_forward="never",
    **{SHARD: 2, TENSOR: 2})
add("titan_llama_no_sp", {"tp": 2}, titan, enable_sequence_parallel=False, **{SHARD: 1, TENSOR: 2})
add("titan_deepseek_tp2", {"tp": 2}, titan_deepseek, **{SHARD: 1, TENSOR: 2})
add("titan_deepseek_fsdp4", {"dp": 4}, titan_deepseek, **{SHARD: 4})
add("titan_qwen_fsdp2", {"dp": 2}, titan_qwen, **{SHARD: 2})
add("titan_qwen_tp2", {"tp": 2}, titan_qwen, **{SHARD: 1, TENSOR: 2})
add("titan_qwen_dp2_tp2_clip", {"dp": 2, "tp": 2}, titan_qwen, clip=0.5, **{SHARD: 2, TENSOR: 2})
