"""Numbers that leave tensors."""
import math
from math import ceil

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


def test_an_equal_number_is_not_taken_for_an_item(recorded):
    a = torch.ones(4)

    def step():
        a.sum().item()  # 4.0
        return {"y": a * 1.0 + 4.0}

    trace = recorded(step, inputs={"a": a})
    assert trace.only("aten.mul.Tensor")["args"][1] == 1.0
    assert trace.only("aten.add.Tensor")["args"][1] == 4.0


@pytest.mark.parametrize("value", [0.0, 1.0, 2.0, -1.0, 0.5])
def test_a_number_that_programs_are_full_of_is_tagged_all_the_same(value, recorded):
    a, n = torch.tensor([3.0, 4.0]), torch.tensor(value)
    trace = recorded(lambda: {"y": a * n.item()}, inputs={"a": a, "n": n})
    assert trace.only("aten.mul.Tensor")["args"][1] == {"item": 0, "value": value}


def test_equal_arguments_of_one_call_are_told_apart(recorded):
    a, n = torch.ones(2), torch.tensor(2.0)

    def step():
        b = torch.add(a, 2.0, alpha=n.item())
        c = torch.add(a, n.item(), alpha=2.0)
        return {"y": torch.clamp(b + c, n.item(), 2.0)}

    trace = recorded(step, inputs={"a": a, "n": n})
    first, second = trace.of("aten.add.Tensor")[:2]
    assert (first["args"][1], first["kwargs"]["alpha"]) == (2.0, {"item": 0, "value": 2.0})
    assert (second["args"][1], second["kwargs"]["alpha"]) == ({"item": 1, "value": 2.0}, 2.0)
    assert trace.only("aten.clamp.default")["args"][1:] == [{"item": 2, "value": 2.0}, 2.0]


def test_a_number_that_is_a_default_is_not_left_out(recorded):
    a, n = torch.ones(2), torch.tensor(1)
    trace = recorded(lambda: {"y": torch.add(a, a, alpha=n.item())}, inputs={"a": a, "n": n})
    assert trace.only("aten.add.Tensor")["kwargs"]["alpha"] == {"item": 0, "value": 1}


def test_gradients_get_numbers_of_the_call_whose_gradients_they_are(recorded):
    a, n = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(2.0)

    def step():
        (a / n.item()).sum().backward()
        (a ** n.item() * 2.0).sum().backward()
        return {"grad": a.grad}

    trace = recorded(step, inputs={"a": a, "n": n})
    backward = [entry for entry in trace.operators if trace.text(entry, "phase") == "backward"]
    assert [entry["args"][1] for entry in backward if entry["op"] == "aten.div.Tensor"] == [{"item": 0, "value": 2.0}]
    assert [entry["args"][1] for entry in backward if entry["op"] == "aten.pow.Tensor_Scalar"] == [
        {"computed": ["sub", {"item": 1}, 1], "value": 1.0}]
    scalars = [entry["args"][1] for entry in backward if entry["op"].startswith("aten.mul")]
    assert {"item": 1, "value": 2.0} in scalars and 2.0 in scalars


def test_lists_of_numbers_are_told_apart(recorded):
    a, b, n = torch.ones(2), torch.ones(2), torch.tensor(3.0)
    trace = recorded(lambda: {"a": torch._foreach_mul_([a, b], [n.item(), 3.0])[0]}, inputs={"a": a, "b": b, "n": n})
    assert trace.only("aten._foreach_mul_.ScalarList")["args"][1] == [{"item": 0, "value": 3.0}, 3.0]


def test_functions_of_numbers_are_followed(recorded):
    a, n = torch.ones(2), torch.tensor(6.5)

    def step():
        x = n.item()
        for number in (int(x * 1.25), round(x), math.floor(x), math.sqrt(x), ceil(x), x // 2, x % 2, abs(x), float(n),
                       float(int(n)), min(x, 9.0), int(max(1, x))):
            a.mul_(number)

    trace = recorded(step, inputs={"a": a, "n": n})
    x = {"item": 0}
    assert [entry["args"][1].get("computed", entry["args"][1].get("item")) for entry in trace.of("aten.mul_.Tensor")] == [
        ["call", "int", ["mul", x, 1.25]], ["call", "round", x], ["call", "floor", x], ["pow", x, 0.5], ["call", "ceil", x],
        ["call", "floordiv", x, 2], ["call", "mod", x, 2], ["call", "abs", x], 1, ["call", "int", {"item": 2}], 0,
        ["call", "int", x]]
    decisions = [(entry["by"], entry["value"]) for entry in trace.content["numbers"] if entry["way"] == "decision"]
    assert decisions == [(">", [6.5, 9.0]), ("<", [6.5, 1])] or len(decisions) == 2


def test_decisions_are_listed_with_their_line_and_values(recorded):
    a, n = torch.ones(2), torch.tensor(6.5)

    def step():
        if n.item() > 3:
            a.mul_(2)
        if (a > 1).any():
            a.mul_(3)
        if math.isfinite(n.item()):
            a.mul_(4)

    content = recorded(step, inputs={"a": a, "n": n}).content
    assert [(entry["way"], entry["by"], entry["value"]) for entry in content["numbers"]] == [
        ("decision", ">", [6.5, 3]), ("decision", "bool", [True]), ("decision", "isfinite", [6.5])]
    lines = [content["strings"][entry["source"]] for entry in content["numbers"]]
    assert lines[0].endswith("if n.item() > 3:") and "any()" in lines[1]


def test_conversions_out_of_sight_are_listed_and_what_may_come_of_them(recorded):
    a, n = torch.ones(2), torch.tensor(7.0)

    def step():
        k = n.item().__int__()  # as packages do it, whose modules keep Python's own int
        return {"y": a * float(k), "z": a[:n.item().__int__() - 6]}

    trace = recorded(step, inputs={"a": a, "n": n})
    entry = trace.content["numbers"][0]
    assert (entry["way"], entry["by"], entry["of"], entry["value"]) == (
        "conversion", "int", [["call", "int", {"item": 0}]], [7])
    assert trace.only("aten.mul.Tensor")["args"][1] == {"may_be": 0, "value": 7.0}


def test_sizes_are_listed(recorded):
    a, n = torch.ones(4), torch.tensor(2)
    content = recorded(lambda: {"y": a[:n.item()] * 3}, inputs={"a": a, "n": n}).content
    assert [(entry["way"], entry["by"], entry["of"], entry["value"]) for entry in content["numbers"]] == [
        ("conversion", "item", [{"item": 0}], [2]),  # a whole number, which may be used out of sight
        ("argument", "__getitem__", [{"item": 0}], [2])]


def test_a_tensor_of_several_numbers_is_a_stack(recorded):
    a = torch.tensor([0.25, 0.5])
    trace = recorded(lambda: {"y": torch.tensor([a.sum().item(), 3.0])}, inputs={"a": a})
    assert [entry["args"][1] for entry in trace.of("aten.full.default")] == [{"item": 0, "value": 0.75}, 3.0]
    assert trace.only("aten.stack.default")["out"] == [{"tensor": trace.result("output", "y")["tensor"]}]


def test_functions_of_numpy_are_followed(recorded):
    import numpy
    a, n = torch.ones(2), torch.tensor(4.0)
    trace = recorded(lambda: {"y": a * numpy.sqrt(n.item())}, inputs={"a": a, "n": n})
    assert trace.only("aten.mul.Tensor")["args"][1]["computed"] == ["call", "numpy.sqrt", {"item": 0}]


def test_a_module_that_uses_int_as_a_type_keeps_it(tmp_path):
    from planproof.torch.program_numbers import _names_only_called
    path = tmp_path / "module.py"
    path.write_text("def f(a: int, b) -> float:\n    return int(a) + float(b) if isinstance(b, (int, float)) else 0\n")
    assert _names_only_called(str(path)) == {"int", "float"}
    path.write_text("def f(a, b):\n    return int(a) if type(b) is int else x.to(float) + float(b)\n")
    assert _names_only_called(str(path)) == set()


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
    assert type(torch.tensor(2.5).item()) is float and type(math.sqrt(4)) is float
    assert "int" not in globals() and math.floor is ceil.__self__.floor
    assert torch.tensor([torch.tensor(1.0)]).tolist() == [1.0]
