"""torchtitan's DeepSeek-V3 with FSDP2, and experts on two ranks."""
from titan import deepseek, deepseek_v3, training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, deepseek(), deepseek_v3.parallelize_deepseekv3, data_parallel_shard_degree=2,
                    expert_parallel_degree=2)
