"""Numbers that leave tensors."""
import pytest

torch = pytest.importorskip("torch")
def test_a_number_from_an_item_is_tagged_where_it_returns(recorded):
    a = torch.tensor([3.25, 4.5])
    trace = recorded(lambda: {"y": a * a.sum().item()}, inputs={"a": a})
    item = trace.only("aten._local_scalar_dense.default")
    assert (item["item"], item["out"]) == (0, [7.75])
    assert trace.only("aten.mul.Tensor")["args"][1] == {"item": 0, "value": 7.75}


def test_arithmetic_in_python_is_followed(recorded):
    step_count, a = torch.tensor(3.0), torch.ones(2)
    trace = recorded(lambda: {"y": a / (1 - 0.9 ** step_count.item()) ** 0.5}, inputs={"a": a})
    assert trace.only("aten.div.Tensor")["args"][1] == {
        "computed": ["pow", ["sub", 1, ["pow", 0.9, {"item": 0}]], 0.5],
        "value": (1 - 0.9 ** 3.0) ** 0.5}


def test_common_numbers_and_sizes_are_not_taken_for_items(recorded):
    a = torch.ones(4)

    def step():
        a.sum().item()  # 4.0
        (a[:1].sum()).item()  # 1.0
        return {"y": (a * 1.0 + 4.0).reshape(4).expand(4, 4)}

    trace = recorded(step, inputs={"a": a})
    assert trace.only("aten.mul.Tensor")["args"][1] == 1.0
    assert trace.only("aten.add.Tensor")["args"][1] == {"item": 0, "value": 4.0}


def test_a_tensor_of_a_number_from_an_item_is_no_constant(recorded):
    a = torch.tensor([0.1, 0.7])
    trace = recorded(lambda: {"y": torch.tensor(a.sum().item() / 3)}, inputs={"a": a})
    made = trace.only("aten.full.default")
    assert made["args"][1]["computed"] == ["div", {"item": 0}, 3]
    assert made["out"] == [{"tensor": trace.result("output", "y")["tensor"]}]


def test_a_tensor_of_tensors_is_a_stack(recorded):
    a = torch.tensor([0.1, 0.7])
    trace = recorded(lambda: {"y": torch.tensor([a.sum(), a.prod()])}, inputs={"a": a})
    operands = trace.only("aten.stack.default")["args"][0]
    produced = [trace.only(name)["out"][0] for name in ("aten.sum.default", "aten.prod.default")]
    assert [trace.view(each["tensor"])[0] for each in operands] == [
        trace.view(each["tensor"])[0] for each in produced]


def test_other_ways_out_of_tensors_are_noted(recorded):
    a = torch.ones(2)
    trace = recorded(lambda: {"y": a * sum(a.tolist())}, inputs={"a": a})
    assert "tolist" in trace.content["notes"][0] and "test_numbers.py" in trace.content["notes"][0]


def test_item_is_itself_again_afterwards(recorded):
    recorded(lambda: None)
    assert type(torch.tensor(2.5).item()) is float
    assert torch.tensor([torch.tensor(1.0)]).tolist() == [1.0]
