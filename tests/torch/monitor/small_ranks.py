"""Monitored runs of several processes that talk over gloo, for tests of the tracer: kinds of parallelism by name."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = {"ddp": 2, "fsdp1": 2, "fsdp2": 2, "hsdp": 4, "fsdp2_tp": 4}


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width=10, words=13):
        super().__init__()
        self.words, self.layers = nn.Embedding(words, width), nn.ModuleList(Layer(width) for _ in range(2))
        self.head = nn.Linear(width, words)

    def forward(self, x):
        h = self.words(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def distributed(kind, model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if kind == "fsdp1":
        return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))
    names = {"fsdp2": ("dp",), "hsdp": ("replicate", "shard"), "fsdp2_tp": ("dp", "tp")}[kind]
    mesh = init_device_mesh("cpu", (2,) * len(names), mesh_dim_names=names)
    if kind == "fsdp2_tp":
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        for layer in model.layers:
            parallelize_module(layer, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        mesh = mesh["dp"]
    for layer in (*model.layers, model):
        fully_shard(layer, mesh=mesh)
    return model


def work(rank, kind, meeting, directory, steps):
    from planproof.torch import monitor
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS[kind])
    torch.manual_seed(0)
    model = distributed(kind, Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = rank // 2 if kind == "fsdp2_tp" else rank
    with monitor(model, optimizer, directory, every=2, on_alarm=None):
        for step in range(steps):
            x = torch.randint(0, 13, (3, 5), generator=torch.Generator().manual_seed(100 * step + data))
            optimizer.zero_grad()
            F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).backward()
            if kind == "ddp":
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        if kind != "fsdp1":
            model.state_dict()
    dist.destroy_process_group()


def run(kind, directory, meeting, steps=4):
    multiprocessing.spawn(work, (kind, meeting, directory, steps), nprocs=RANKS[kind])


if __name__ == "__main__":
    sys.path[:0] = [HERE]
    run(*sys.argv[1:])
