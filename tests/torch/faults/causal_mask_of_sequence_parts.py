"""Context parallelism with gathered keys and values, where each rank masks as if its queries were the first of the sequence."""
import torch
import torch.distributed as dist
from planproof.torch import reduced, shard
from torch import nn
from torch.nn import functional

from by_hand import Gathers, training

MESH = {"cp": 2}
WIDTH, HEAD, LENGTH = 16, 4, 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x, start, whole):
        q, k, v = (each.unflatten(-1, (-1, HEAD)).transpose(1, 2)
                   for each in (self.q(x), whole(self.k(x)), whole(self.v(x))))
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)[start:start + x.shape[1]]
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * HEAD ** -0.5 + mask, -1)
        return x + self.out(torch.matmul(weights, v).transpose(1, 2).flatten(-2))


def build(mesh, fault=True):
    model = Net()
    x, y = torch.randn(2, LENGTH, WIDTH), torch.randn(2, LENGTH, WIDTH)
    start, whole = 0, lambda part: part
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks, group = mesh.get_local_rank("cp"), mesh.size(), mesh.get_group("cp")
        x, y = (each.chunk(ranks, 1)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 1, rank, ranks), "y": shard(y, 1, rank, ranks)}
        start = 0 if fault else rank * LENGTH // ranks

        def whole(part):
            return Gathers.apply(part, 1, group)

    def step():
        loss = functional.mse_loss(model(x, start, whole), y)
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            dist.all_reduce(each.grad, dist.ReduceOp.AVG)
        return {"loss": reduced(loss, "avg")}

    return training(model, inputs, step)
