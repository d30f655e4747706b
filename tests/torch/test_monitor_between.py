"""What the tracer does in steps between samples, where each step is to cost little."""
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

from small_runs import Tied, journal, monitored, train_step  # noqa: E402

from planproof.torch.monitoring import holdings, optimizer_hooks  # noqa: E402

ZERO_GRAD, STEP, RATE = 1, 8, 12


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "run")


def test_gradients_are_counted_in_sampled_steps(directory):
    found = monitored(directory, steps=5, every=3)
    assert [event["c"] for _, event in found.events(STEP)] == [3, 3, -1, 3, -1]
    assert [event["c"] for _, event in found.events(ZERO_GRAD)] == [0, 3, -1, 3, -1]


def test_a_changed_option_is_written_at_its_step(directory):
    def step(model, optimizer, number, _):
        if number == 3:
            optimizer.param_groups[0]["weight_decay"] = 0.5
        if number == 4:
            optimizer.param_groups[0]["lr"] = 0.25
        train_step(model, optimizer, number)

    found = monitored(directory, steps=6, every=100, step=step)
    assert [each["groups"][0]["weight_decay"] for each in found.options] == [0.01, 0.5]
    assert [(number, event["a"]) for number, event in found.events(RATE)] == [(4, 0.25)]


def test_a_parameter_that_joins_a_group_in_place_is_seen(directory):
    extra = torch.nn.Parameter(torch.zeros(3))

    def step(model, optimizer, number, _):
        if number == 3:
            optimizer.param_groups[0]["params"].append(extra)
        train_step(model, optimizer, number)

    found = monitored(directory, steps=5, every=100, step=step)
    assert [each["groups"][0]["others"] for each in found.options] == [[], [[3]]]


@pytest.mark.parametrize("tensors", [1, 3, 4])
def test_what_is_frozen_is_seen_within_a_round(tensors, directory, monkeypatch):
    monkeypatch.setattr(holdings, "TENSORS_IN_TURN", tensors)
    model = Tied()
    number_of = {name: at for at, (name, _) in enumerate(model.named_parameters(remove_duplicate=False))}

    def step(model, optimizer, number, _):
        if number == 2:
            model.layer.weight.requires_grad_(False)
        train_step(model, optimizer, number)
        tables = journal(directory).tables
        if len(tables) == 2 and not seen:
            seen.append(number)

    seen = []
    found = monitored(directory, steps=10, every=100, step=step, model=model)
    assert [each["trainable"] for each in found.tables[1]] == [at != number_of["layer.weight"] for at in range(4)]
    assert 2 <= seen[0] <= 2 + -(-4 // tensors)


def test_what_is_frozen_is_seen_at_once_in_a_sampled_step(directory, monkeypatch):
    monkeypatch.setattr(holdings, "TENSORS_IN_TURN", 0)

    def step(model, optimizer, number, _):
        if number == 3:
            model.layer.weight.requires_grad_(False)
        train_step(model, optimizer, number)
        tables.append(len(journal(directory).tables))

    tables = []
    monitored(directory, steps=7, every=5, step=step)
    assert tables == [1, 1, 1, 1, 1, 2, 2]


def test_a_rate_on_a_device_is_written_when_it_was_written(directory, monkeypatch):
    rate = torch.tensor(0.5)
    monkeypatch.setattr(optimizer_hooks, "is_on_device", lambda value: value is rate)

    def step(model, optimizer, number, _):
        if number == 3:
            rate.fill_(0.125)
        train_step(model, optimizer, number)

    found = monitored(directory, steps=5, every=100, step=step,
                      make=lambda model: torch.optim.Adam(model.parameters(), lr=rate, capturable=False, foreach=False))
    assert [(number, event["a"]) for number, event in found.events(RATE)] == [(0, 0.5), (3, 0.125)]


SCRIPT = """
import sys
sys.path[:0] = {paths!r}
import torch
from small_runs import Tied, train_step
import planproof.torch
model = Tied()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
planproof.torch.monitor(model, optimizer, sys.argv[1], every=100, on_alarm=None)
for number in range(5):
    train_step(model, optimizer, number)
"""


def test_a_run_that_ends_without_closing_has_all_of_its_steps(directory):
    script = SCRIPT.format(paths=[os.path.join(HERE, "monitor"), os.path.join(HERE, "..", "..", "python")])
    subprocess.run([sys.executable, "-c", script, directory], check=True)
    found = journal(directory)
    assert sorted(found.steps) == [0, 1, 2, 3, 4] and found.closing is None
