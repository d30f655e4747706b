"""torchtitan's Llama with FSDP2 over tensor and sequence parallelism, gradients clipped by their global norm."""
from titan import llama, llama3, training

MESH = {"dp": 2, "tp": 2}


def build(mesh):
    return training(mesh, llama(), llama3.parallelize_llama, clip=0.5, data_parallel_shard_degree=2,
                    tensor_parallel_degree=2)
