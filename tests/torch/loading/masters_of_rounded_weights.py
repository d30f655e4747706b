"""The model computes in bfloat16 and the optimizer updates masters in single precision; rank 1 makes its masters from the rounded
weights, and not from the checkpoint's."""
import torch
from planproof.torch import Training
from torch import nn
from torch.nn import functional

from checkpoint import average_gradients, averaged, checkpoint, dataset, rows_of_batch
from layers import Mlp

MESH = {"dp": 2}
#: Gradients are rounded to bfloat16 before and after they are averaged.
ROUNDING = 1e-2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.masters, self.model = Mlp(), Mlp()


def build(mesh, fault=True):
    net = Net()
    saved = checkpoint(net.masters)
    net.model.load_state_dict(saved)
    net.model.bfloat16()
    rounded = mesh is not None and fault and mesh.get_rank() == 1
    net.masters.load_state_dict(net.model.state_dict() if rounded else saved)
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    own = range(8)[rank * 8 // ranks:(rank + 1) * 8 // ranks]
    x, y, inputs = rows_of_batch(dataset(), own, own, 8)
    optimizer = torch.optim.SGD(net.masters.parameters(), lr=1e-2)

    def step():
        net.zero_grad()
        with torch.no_grad():
            for value, master in zip(net.model.parameters(), net.masters.parameters()):
                value.copy_(master)
        loss = functional.mse_loss(net.model(x.bfloat16()).to(y.dtype), y)
        loss.backward()
        if mesh is not None:
            average_gradients(net.model)
        for value, master in zip(net.model.parameters(), net.masters.parameters()):
            master.grad = value.grad.to(master.dtype)
        optimizer.step()
        return averaged(loss, mesh)

    return Training(step, net, optimizer, inputs)
