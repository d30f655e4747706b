"""Wrong: four ranks add up the gradient of the weight, of which the reference has the mean. The optimizer's states differ from the
first step on."""
import torch
import torch.distributed as dist
from torch import nn

from planproof.torch import Training, reduced, shard


def build(mesh):
    torch.manual_seed(0)
    model, x, y = nn.Linear(4, 4), torch.randn(8, 4), torch.randn(8, 4)
    inputs = {"x": x, "y": y}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        if mesh is not None:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                if parameter.dim() == 1:
                    parameter.grad /= mesh.size()
        optimizer.step()
        return {"loss": loss if mesh is None else reduced(loss, "avg")}

    return Training(step, model, optimizer, inputs)
