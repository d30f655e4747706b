"""Tensor parallelism within two replicas: gradients are averaged over the ranks of a replica, not over the replicas."""
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch.nn import functional

from by_hand import Sums, cut, share, training
from models import Mlp, batch

MESH = {"dp": 2, "tp": 2}


def build(mesh, fault=True):
    model, parts = Mlp(), {}
    x, y = batch()
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, group = mesh.get_local_rank("tp"), mesh.get_group("tp")
        replica, replicas = mesh.get_local_rank("dp"), mesh.get_group("tp" if fault else "dp")
        parts = {"up.weight": share((16, 8), 0, rank, 2), "up.bias": share((16,), 0, rank, 2),
                 "down.weight": share((8, 16), 1, rank, 2)}
        model.up.weight, model.up.bias, model.down.weight = (
            cut(model.get_parameter(name), part) for name, part in parts.items())
        x, y = (each.chunk(2)[replica].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, replica, 2), "y": shard(y, 0, replica, 2)}

    def step():
        h = functional.gelu(model.up(x))
        if mesh is None:
            h = model.down(h)
        else:
            h = Sums.apply(functional.linear(h, model.down.weight), group) + model.down.bias
        loss = functional.mse_loss(h, y)
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad, dist.ReduceOp.AVG, group=replicas)
        return {"loss": reduced(loss, "avg", dist.get_process_group_ranks(mesh.get_group("dp")))}

    return training(model, inputs, step, parts)
