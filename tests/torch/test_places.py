"""Source lines, modules and phases."""
import re

import pytest

torch = pytest.importorskip("torch")
from planproof.torch import phase  # noqa: E402
from torch import nn  # noqa: E402


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.linear(x))  # the line of tanh


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Inner(), Inner()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


def training(recorded):
    model = Outer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(torch.ones(2, 4)).backward()
        optimizer.step()
        with phase("mine"):
            torch.zeros(1).exp()

    return recorded(step, model=model, optimizer=optimizer)


def test_the_source_is_the_innermost_line_outside_torch(recorded):
    trace = training(recorded)
    for entry in trace.of("aten.tanh.default"):
        assert re.search(r"test_places.py:\d+: return torch.tanh.* # the line of tanh$",
                         trace.text(entry, "source"))


def test_modules_are_named_as_in_the_model(recorded):
    trace = training(recorded)
    assert [trace.text(entry, "module") for entry in trace.of("aten.tanh.default")] == [
        "layers.0", "layers.1"]
    assert [trace.text(entry, "module") for entry in trace.of("aten.addmm.default")] == [
        "layers.0.linear", "layers.1.linear"]


def test_backward_operators_have_the_place_of_their_forward_operator(recorded):
    trace = training(recorded)
    backward = trace.of("aten.tanh_backward.default")
    assert [trace.text(entry, "module") for entry in backward] == ["layers.1", "layers.0"]
    assert all("tanh(self.linear(x))" in trace.text(entry, "source") for entry in backward)
    products = [entry for entry in trace.of("aten.mm.default")]
    assert {trace.text(entry, "module") for entry in products} == {"layers.0.linear", "layers.1.linear"}


def test_phases(recorded):
    trace = training(recorded)
    assert {trace.text(entry, "phase") for entry in trace.of("aten.tanh.default")} == {"forward"}
    assert {trace.text(entry, "phase") for entry in trace.of("aten.mm.default")} == {"backward"}
    assert {trace.text(entry, "phase") for entry in trace.of("aten.add_.Tensor")} == {"optimizer"}
    assert trace.text(trace.only("aten.exp.default"), "phase") == "mine"


def test_hooks_are_removed(recorded):
    before = len(nn.modules.module._global_forward_hooks)
    training(recorded)
    assert len(nn.modules.module._global_forward_hooks) == before
