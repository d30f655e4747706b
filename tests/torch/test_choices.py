"""Which elements operators choose."""
import pytest

torch = pytest.importorskip("torch")


def test_indices_that_are_computed_from_real_numbers_are_recorded(recorded):
    a = torch.tensor([[0.5, 2.0, 1.0], [3.0, -1.0, 0.0]])
    trace = recorded(lambda: {"y": a.topk(2).indices}, inputs={"a": a})
    assert trace.only("aten.topk.default")["values"] == [None, [1, 2, 0, 2]]
    assert not any("unseen" in note for note in trace.content["notes"])


def test_what_is_computed_from_integers_is_not_recorded(recorded):
    a = torch.tensor([3, 1, 2])
    trace = recorded(lambda: {"y": a.sort().indices}, inputs={"a": a})
    assert "values" not in trace.only("aten.sort.default")


def test_conversions_are_not_recorded(recorded):
    a = torch.tensor([3.0, 1.0])
    trace = recorded(lambda: {"y": a.long()}, inputs={"a": a})
    assert "values" not in trace.only("aten._to_copy.default")


def test_long_results_are_not_recorded(recorded):
    a = torch.arange(5000.0)
    trace = recorded(lambda: {"y": a.argsort()}, inputs={"a": a})
    assert all("values" not in each for each in trace.content["operators"])
