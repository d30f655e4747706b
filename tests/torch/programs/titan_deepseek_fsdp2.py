"""torchtitan's DeepSeek-V3 with FSDP2: latent attention, one dense layer and one mixture of experts."""
from titan import deepseek, deepseek_v3, training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, deepseek(), deepseek_v3.parallelize_deepseekv3, data_parallel_shard_degree=2)
