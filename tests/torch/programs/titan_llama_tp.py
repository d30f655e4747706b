"""torchtitan's Llama with tensor and sequence parallelism."""
from titan import llama, llama3, training

MESH = {"tp": 2}


def build(mesh):
    return training(mesh, llama(), llama3.parallelize_llama, data_parallel_shard_degree=1,
                    tensor_parallel_degree=2)
