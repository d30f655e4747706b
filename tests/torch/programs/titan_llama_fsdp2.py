"""torchtitan's Llama with FSDP2."""
from titan import llama, llama3, training

MESH = {"dp": 2}


def build(mesh):
    return training(mesh, llama(), llama3.parallelize_llama, data_parallel_shard_degree=2)
