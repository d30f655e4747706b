"""What the recorder writes of operators: memory, views, writes, numbers."""
import pytest

torch = pytest.importorskip("torch")
from planproof import RecordingError  # noqa: E402
from planproof.torch import record  # noqa: E402


def test_an_operator_names_its_operands_and_result(recorded):
    a, b = torch.ones(2, 3), torch.full((2, 3), 2.0)
    trace = recorded(lambda: {"sum": a + b}, inputs={"a": a, "b": b})
    entry = trace.only("aten.add.Tensor")
    assert [value["tensor"] for value in entry["args"]] == [
        trace.input("a")["tensor"], trace.input("b")["tensor"]]
    assert entry["out"] == [{"tensor": trace.result("output", "sum")["tensor"]}]
    assert "writes" not in entry


def test_views_show_the_storage_of_their_base_and_are_no_operators(recorded):
    a = torch.arange(12.0).reshape(3, 4)
    trace = recorded(lambda: {"y": a.t()[1:, ::2].exp()}, inputs={"a": a})
    assert trace.names() == ["aten.exp.default"]
    storage, dtype, offset, shape, strides = trace.view(trace.only("aten.exp.default")["args"][0]["tensor"])
    assert storage == trace.view(trace.input("a")["tensor"])[0]
    assert (dtype, offset, shape, strides) == ("float32", 1, [3, 2], [1, 8])


def test_a_write_in_place_is_a_write_of_the_operand(recorded):
    a = torch.ones(4)
    trace = recorded(lambda: {"a": a.add_(1)}, inputs={"a": a})
    assert trace.only("aten.add_.Tensor")["writes"] == [trace.input("a")["tensor"]]


def test_batch_norm_in_training_writes_its_running_statistics(recorded):
    """Which its signature does not say."""
    x, norm = torch.randn(4, 3), torch.nn.BatchNorm1d(3)
    trace = recorded(lambda: {"y": norm(x)}, inputs={"x": x, "mean": norm.running_mean, "var": norm.running_var})
    entry = trace.only("aten.native_batch_norm.default")
    assert entry["writes"] == [trace.input("mean")["tensor"], trace.input("var")["tensor"]]
    norm.eval()
    trace = recorded(lambda: {"y": norm(x)}, inputs={"x": x})
    assert "writes" not in trace.only("aten.native_batch_norm.default")


def test_views_in_place_are_no_operators(recorded):
    a = torch.arange(6.0).reshape(2, 3)

    def step():
        b = a.clone()
        b.transpose_(0, 1).unsqueeze_(0)
        return {"y": b.exp()}

    trace = recorded(step, inputs={"a": a})
    assert trace.names() == ["aten.clone.default", "aten.exp.default"]
    assert trace.view(trace.only("aten.exp.default")["args"][0]["tensor"])[3:5] == [[1, 3, 2], [3, 1, 3]]


def test_an_lstm_is_recorded_by_its_steps(recorded):
    """Not as the one operator that oneDNN has, which is there again afterwards."""
    x, layer = torch.randn(2, 3, 4), torch.nn.LSTM(4, 2)
    enabled = torch._C._get_mkldnn_enabled()
    names = recorded(lambda: {"y": layer(x)[0]}, inputs={"x": x}).names()
    assert "aten.mkldnn_rnn_layer.default" not in names and "aten.addmm.default" in names
    assert torch._C._get_mkldnn_enabled() == enabled


def test_out_arguments_and_lists_are_written(recorded):
    a, b, c = torch.ones(4), torch.ones(4), torch.empty(4)

    def step():
        torch.mul(a, 2, out=c)
        torch._foreach_add_([a, b], 1)

    trace = recorded(step, inputs={"a": a, "b": b})
    out = trace.only("aten.mul.out")
    assert out["writes"] == [out["kwargs"]["out"]["tensor"]]
    assert trace.only("aten._foreach_add_.Scalar")["writes"] == [
        trace.input("a")["tensor"], trace.input("b")["tensor"]]


def test_a_partial_write_through_a_view_is_a_write_of_that_view(recorded):
    a = torch.zeros(4, 4)

    def step():
        a[1:3, 2] = 5.0

    trace = recorded(step, inputs={"a": a})
    entry = next(entry for entry in trace.operators if "writes" in entry)
    assert trace.view(entry["writes"][0])[2:] == [6, [2], [4]]


def test_memory_that_is_freed_and_allocated_again_is_another_storage(recorded):
    def step():
        for _ in range(50):
            torch.empty(1000).fill_(1.0)

    trace = recorded(step)
    storages = [trace.view(entry["writes"][0])[0] for entry in trace.of("aten.fill_.Scalar")]
    assert len(set(storages)) == 50


def test_constants_say_what_they_hold(recorded):
    small, equal, large = torch.arange(4), torch.full((3, 3), 0.5), torch.rand(5000)
    trace = recorded(lambda: {"y": (large * 2).sum() + equal.sum() + small.sum()})
    storages = {entry["size"]: entry for entry in trace.content["storages"]}
    assert storages[4] == {"dtype": "int64", "size": 4, "values": [0, 1, 2, 3]}
    assert storages[9] == {"dtype": "float32", "size": 9, "uniform": 0.5}
    assert len([entry for entry in trace.content["storages"] if len(entry.get("digest", "")) == 64]) == 1


def test_contents_that_are_overwritten_before_they_are_read_are_no_constants(recorded):
    buffer, a = torch.rand(2, 4), torch.ones(4)

    def step():
        buffer[0].copy_(a)
        torch.mul(a, 2, out=buffer[1])
        return {"y": buffer.sum()}

    trace = recorded(step, inputs={"a": a})
    (written,) = [entry for entry in trace.content["storages"] if entry["size"] == 8]
    assert written == {"dtype": "float32", "size": 8}


def test_contents_that_are_overwritten_in_part_are_constants(recorded):
    buffer, a = torch.rand(2, 4), torch.ones(4)

    def step():
        buffer[0].copy_(a)
        return {"y": buffer.sum()}

    (kept,) = [entry for entry in recorded(step, inputs={"a": a}).content["storages"] if entry["size"] == 8]
    assert len(kept["values"]) == 8


def test_conjugate_and_negative_bits_are_flags(recorded):
    z = torch.randn(3, dtype=torch.complex64)
    trace = recorded(lambda: {"y": z.conj().imag.exp(), "w": z.conj() * 2}, inputs={"z": z})
    shown = [trace.view(entry["args"][0]["tensor"]) for entry in trace.of("aten.clone.default")]
    assert [(view[1], view[2], view[5]) for view in shown] == [("float32", 1, 2), ("complex64", 0, 1)]
    assert trace.storage(trace.input("z")["tensor"]) == {"dtype": "float32", "size": 6}


def test_numbers_keep_their_kind(recorded):
    a = torch.ones(2)
    trace = recorded(lambda: {"y": (a * 2 + 2.0).clamp(max=float("inf")).to(torch.float64)}, inputs={"a": a})
    assert trace.only("aten.mul.Tensor")["args"][1] == 2
    assert isinstance(trace.only("aten.add.Tensor")["args"][1], float)
    assert {"float": "inf"} in trace.only("aten.clamp.default")["args"]
    assert trace.only("aten._to_copy.default")["kwargs"]["dtype"] == {"dtype": "float64"}


def test_the_same_step_gives_the_same_file(tmp_path):
    weight = torch.ones(4, requires_grad=True)

    def step():
        (weight * 3).sum().backward()

    for name in ("a", "b"):
        weight.grad = None
        record(step, tmp_path / f"{name}.trace")
    assert (tmp_path / "a.trace").read_bytes() == (tmp_path / "b.trace").read_bytes()


def test_looking_at_bits_is_an_error(recorded):
    a = torch.ones(4)
    with pytest.raises(RecordingError, match="memory of float32 is looked at as int32"):
        recorded(lambda: {"y": a.view(torch.int32) + 1}, inputs={"a": a})
