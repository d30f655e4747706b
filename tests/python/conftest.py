"""Plans that several tests use."""
import os
import sys

import pytest

import planproof

pytest_plugins = ["pytester"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def model():
    """y = x w^T with a squared error."""
    specification = planproof.Specification()
    x, t = specification.inputs(x=[8, 16], t=[8, 32])
    w = specification.parameter("w", [32, 16])
    loss = specification.mse_loss(specification.linear(x, w), t, out="loss")
    specification.gradients(loss, [w])
    specification.outputs({"loss": {}, "grad.w": {1: "tp"}})
    return specification


@pytest.fixture
def build(model):
    """Columns of x and w over two devices; `combine` makes y of the rank's term."""

    def plan(combine=lambda p, part: p.all_reduce(part, over="tp")):
        whole = planproof.Plan(model, mesh={"tp": 2})
        p = whole.program()
        x, w, t = p.inputs(x={1: "tp"}, w={1: "tp"}, t={})
        part = p.linear(x, w)
        y = combine(p, part)
        loss = p.mse_loss(y, t, out="loss")
        grad_y = p.backward(loss, p.input("grad.loss"), [y])
        p.backward(part, grad_y, {w: "grad.w"})
        return whole

    return plan
