"""What holds a value before the step and after it."""
import pytest

torch = pytest.importorskip("torch")
from planproof import RecordingError  # noqa: E402
from planproof.torch import bounded, part, reduced, shard  # noqa: E402
from torch import nn  # noqa: E402


def adamw(model, x):
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    step()
    return step, optimizer


def test_parameters_states_inputs_and_results(recorded):
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    step, optimizer = adamw(model, x)
    trace = recorded(step, model=model, optimizer=optimizer, inputs={"x": x})
    assert [(entry["role"], entry["name"]) for entry in trace.content["inputs"]] == [
        ("parameter", "weight"), ("parameter", "bias"),
        ("state", "weight.step"), ("state", "weight.exp_avg"), ("state", "weight.exp_avg_sq"),
        ("state", "bias.step"), ("state", "bias.exp_avg"), ("state", "bias.exp_avg_sq"),
        ("input", "x")]
    assert trace.input("weight.exp_avg")["parameter"] == "weight"
    assert trace.result("updated", "weight")["tensor"] == trace.input("weight")["tensor"]
    assert trace.result("gradient", "bias") and trace.result("output", "loss")


def test_states_that_the_step_makes_are_outputs(recorded):
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(x).sum().backward()
        optimizer.step()

    trace = recorded(step, model=model, optimizer=optimizer, inputs={"x": x})
    assert not [entry for entry in trace.content["inputs"] if entry["role"] == "state"]
    assert trace.result("output", "new weight.exp_avg")


def test_tied_parameters_have_the_first_name(recorded):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    trace = recorded(lambda: None, model=model)
    assert [entry["name"] for entry in trace.content["inputs"]] == ["0.weight", "0.bias", "1.bias"]


def test_buffers_that_are_saved_have_names_and_others_are_constants(recorded):
    model = nn.BatchNorm1d(3)
    model.register_buffer("table", torch.arange(3.0), persistent=False)
    trace = recorded(lambda: {"y": model.table * model.running_mean}, model=model)
    assert [entry["name"] for entry in trace.content["inputs"] if entry["role"] == "buffer"] == [
        "running_mean", "running_var"]
    assert {"dtype": "float32", "size": 3, "values": [0.0, 1.0, 2.0]} in trace.content["storages"]


def test_parts_of_inputs(recorded):
    x, tokens, y = torch.ones(2, 3), torch.zeros(2, 4, dtype=torch.int64), torch.ones(4)
    trace = recorded(lambda: None, inputs={
        "x": shard(x, 0, 1, 2), "tokens": bounded(shard(tokens, 1, 0, 2), 0, 32),
        "y": part(y, [8], [[[0, 2], [4, 2]]])})
    assert trace.input("x")["of"] == [4, 3] and trace.input("x")["place"] == [[[2, 2]], [[0, 3]]]
    assert trace.input("tokens")["domain"] == [0, 32]
    assert trace.input("y")["place"] == [[[0, 2], [4, 2]]]


def test_a_part_of_another_shape_is_an_error(recorded):
    with pytest.raises(RecordingError, match=r"shape \[3\] is held by a tensor of shape \[4\]"):
        part(torch.ones(4), [8], [[[0, 3]]])


def test_a_result_that_no_operator_wrote_is_an_error(recorded):
    with torch.no_grad():
        hidden = torch.ones(2)
    with pytest.raises(RecordingError, match="output y is not in memory"):
        recorded(lambda: {"y": hidden})


def test_only_sums_and_means_reduce_outputs():
    with pytest.raises(RecordingError, match='by "sum" or "avg", not by "max"'):
        reduced(torch.ones(()), "max")
