"""A communication hook of DistributedDataParallel that sums gradients in place of averaging them."""
import torch
import torch.distributed as dist
from planproof.torch import Training, reduced, shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from models import Mlp, batch

MESH = {"dp": 2}


def build(mesh, fault=True):
    model = Mlp()
    x, y = batch()
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_local_rank("dp"), mesh.size()
        model = DistributedDataParallel(model)

        def hook(state, bucket):
            del state
            gradients = bucket.buffer()
            work = dist.all_reduce(gradients if fault else gradients.div_(ranks), async_op=True)
            return work.get_future().then(lambda done: done.value()[0])

        model.register_comm_hook(None, hook)
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss if mesh is None else reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
