"""Recurrent cells whose first state is a constant, over three ranks, with momentum that was restored."""
from functools import partial

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from planproof.torch import Training, check, reduced, shard  # noqa: E402


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.GRUCell(5, 6), nn.LSTMCell(6, 4), nn.Linear(4, 3)
        self.begin = 0.0

    def forward(self, x):
        hidden, state = torch.full((len(x), 6), self.begin, dtype=x.dtype), None
        for each in x.unbind(1):
            hidden = self.first(each, hidden)
            state = self.second(hidden, state)
        return self.head(state[0])


def build(mesh, fault=None):
    torch.manual_seed(3)
    model = Cells().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(6, 2, 5, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)
    restored = [torch.randn_like(parameter) for parameter in model.parameters()]
    rank, ranks = (0, 1) if mesh is None else (mesh.get_rank(), mesh.size())
    x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
    if fault == "begins in ones" and rank == 2:
        model.begin = 1.0
    if fault != "not restored" or rank != 2:
        for parameter, momentum in zip(model.parameters(), restored):
            optimizer.state[parameter] = {"momentum_buffer": momentum}

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        for name, parameter in model.named_parameters():
            if mesh is not None and not (fault == "not reduced" and name == "second.weight_hh"):
                dist.all_reduce(parameter.grad)
                parameter.grad /= ranks
        optimizer.step()
        return {"loss": loss.detach() if mesh is None else reduced(loss.detach(), "avg")}

    inputs = {"x": x, "y": y}
    return Training(step, model, optimizer, inputs if mesh is None else {
        name: shard(value, 0, rank, ranks) for name, value in inputs.items()})


@pytest.mark.parametrize("fault, verdict, said", [
    (None, "PROVED", "for all inputs"),
    ("begins in ones", "REFUTED", "stage loss"),
    ("not reduced", "REFUTED", "second.weight_hh: average over dp missing"),
    ("not restored", "MALFORMED", "rank 2 had no such state before its first iteration")])
def test_a_constant_first_state_is_related_and_only_that(fault, verdict, said):
    first = str(check(partial(build, fault=fault), {"dp": 3}, start_method="fork")).split("\n")[0]
    assert first.startswith(verdict) and said in first, first
