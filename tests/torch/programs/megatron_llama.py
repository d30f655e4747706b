"""Megatron-core as in Llama: grouped queries, rotary embedding, RMS norm, gated MLP, an output layer of its own."""
import torch

from megatron_gpt import config, gpt, start, training

MESH = {"tp": 2}


def build(mesh):
    start(mesh, tensor_model_parallel_size=2)
    settings = config(
        tensor_model_parallel_size=1 if mesh is None else 2, sequence_parallel=mesh is not None,
        normalization="RMSNorm", gated_linear_unit=True, activation_func=torch.nn.functional.silu,
        num_query_groups=2, add_bias_linear=False)
    return training(settings, gpt(settings, position_embedding_type="rope",
                                  share_embeddings_and_output_weights=False))
