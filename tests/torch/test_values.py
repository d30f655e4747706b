"""The file of values: bound to its trace, what ranks held before the first iteration, and a replay that must agree."""
import importlib
import queue
import threading

import numpy
import pytest

torch = pytest.importorskip("torch")
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Training, launch, record, shard  # noqa: E402
from planproof.torch.relations import Part  # noqa: E402
from planproof.torch.replay import read, replay  # noqa: E402
from planproof.torch.sketches import sketch_of_part  # noqa: E402
from planproof.torch.trace_file import load, values_path  # noqa: E402


def floats(data):
    return numpy.frombuffer(data.tobytes(), dtype=numpy.float32).tolist()


def trained(mesh):
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.constant_(model.weight, 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    inputs = {"x": x}
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        x = x.chunk(ranks)[rank].clone()
        inputs = {"x": shard(x, 0, rank, ranks)}

    def step():
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        if mesh is not None:
            torch.distributed.all_reduce(model.weight.grad)
        optimizer.step()
        return {}

    return Training(step, model, optimizer, inputs)


def held(path):
    trace, values = read(path)
    return {entry["name"]: values[f"held_{index}"] for index, entry in enumerate(trace["inputs"])
            if f"held_{index}" in values}


def test_what_ranks_hold_is_taken_before_the_warm_up(tmp_path):
    reference, *ranks = launch(trained, {"dp": 2}, tmp_path, start_method="fork")
    assert floats(held(reference)["weight"]) == [0.5, 0.5]
    assert [floats(held(path)["x"]) for path in ranks] == [[1, 2], [3, 4]]
    # Adam's counter is there for the first time after one iteration, which rounds.
    assert "weight.step" not in held(ranks[0])
    trace, values = read(reference)
    (weight,) = [index for index, entry in enumerate(trace["inputs"]) if entry["name"] == "weight"]
    assert floats(values[f"storage_{trace['tensors'][trace['inputs'][weight]['tensor']][0]}"]) != [0.5, 0.5]


def test_record_takes_what_is_held_at_its_entry(tmp_path):
    a = torch.tensor([1.0, 2.0])
    record(lambda: {"y": a.mul_(2)}, tmp_path / "rank0.trace", inputs={"a": a})
    assert floats(held(tmp_path / "rank0.trace")["a"]) == [1.0, 2.0]


def test_what_earlier_iterations_trained_is_not_taken_at_the_entry(tmp_path):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.ones(1, 2)

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return {}

    record(step, tmp_path / "first.trace", model=model, optimizer=optimizer, inputs={"x": x})
    record(step, tmp_path / "second.trace", model=model, optimizer=optimizer, inputs={"x": x})
    assert set(held(tmp_path / "first.trace")) == {"weight", "bias", "x"}
    assert set(held(tmp_path / "second.trace")) == {"x"}


def test_a_large_tensor_travels_as_a_sketch(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("planproof.torch.recording"), "LARGEST_IN_FULL", 8)
    small, large = torch.ones(2), torch.arange(3.0)
    record(lambda: {"y": small.sum() + large.sum()}, tmp_path / "rank0.trace", inputs={"small": small, "large": shard(large, 0, 1, 2)})
    trace, values = read(tmp_path / "rank0.trace")
    names = [entry["name"] for entry in trace["inputs"]]
    assert f"held_{names.index('small')}" in values and f"held_{names.index('large')}" not in values
    assert numpy.array_equal(values[f"held_sketch_{names.index('large')}"],
                             sketch_of_part("large", large, Part((6,), [[[3, 3]]])))


def test_values_are_bound_to_their_trace(tmp_path):
    a = torch.ones(2)
    for name, factor in (("a", 2), ("b", 3)):
        record(lambda: {"y": a * factor}, tmp_path / f"{name}.trace", inputs={"a": a})
    assert read(tmp_path / "a.trace")[0]["planproof_torch_trace"] == 2
    (tmp_path / "a.values.npz").write_bytes((tmp_path / "b.values.npz").read_bytes())
    with pytest.raises(RecordingError, match="does not belong to a.trace"):
        read(tmp_path / "a.trace")
    (tmp_path / "a.values.npz").unlink()
    with pytest.raises(RecordingError, match="no values beside it"):
        read(tmp_path / "a.trace")


def test_ranks_that_are_recorded_alone_have_no_values(tmp_path):
    paths = launch(trained, {"dp": 4}, tmp_path, start_method="fork", ranks=[0, 1])
    assert ["values" in load(path) for path in paths] == [True, False, False]
    import os
    assert [os.path.exists(values_path(path)) for path in paths] == [True, False, False]


def written_by_numpy(hidden):
    with torch.no_grad():
        array = hidden.detach().numpy()
        array *= 3.0


def written_by_a_thread(hidden):
    thread = threading.Thread(target=lambda: hidden.detach().mul_(3.0))
    thread.start()
    thread.join()


class WrittenByAnEarlierThread:
    """By one that runs since the first iteration, before any is recorded."""

    def __init__(self):
        self.work = None

    def __call__(self, hidden):
        if self.work is None:
            self.work = queue.Queue()
            threading.Thread(target=self.run, daemon=True).start()
        self.work.put(hidden)
        self.work.join()

    def run(self):
        while True:
            self.work.get().detach().mul_(3.0)
            self.work.task_done()


def hidden_write(write):
    def build(mesh):
        model, x = torch.nn.Linear(4, 4), torch.randn(6, 4)

        def step():
            model.zero_grad()
            hidden = model(x)
            if mesh is not None and mesh.get_rank() == 1:
                write(hidden)
            loss = hidden.square().sum()
            loss.backward()
            return {"loss": loss}

        return Training(step, model, None, {"x": x})
    return build


@pytest.mark.parametrize("write", [written_by_numpy, WrittenByAnEarlierThread()])
def test_a_write_past_the_dispatcher_is_no_basis_for_a_verdict(write, tmp_path):
    with pytest.raises(RecordingError) as error:
        launch(hidden_write(write), {"dp": 2}, tmp_path, start_method="fork")
    said = str(error.value)
    assert "rank 1: aten.pow.Tensor_Scalar at" in said and "loss = hidden.square().sum()" in said
    assert "numpy, another thread" in said and "\n" not in said


def test_what_a_thread_of_the_step_writes_is_recorded(tmp_path):
    *_, last = launch(hidden_write(written_by_a_thread), {"dp": 2}, tmp_path, start_method="fork")
    assert "aten.mul_.Tensor" in [entry.get("op") for entry in load(last)["operators"]] and replay(tmp_path).exact


def test_a_recording_that_is_complete_is_replayed_silently(tmp_path):
    launch(hidden_write(lambda hidden: None), {"dp": 2}, tmp_path, start_method="fork")
    assert replay(tmp_path).exact
