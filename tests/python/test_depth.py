"""Plans of many layers alike, in primitive operators: what is found for a layer counts for all, and a fault
in one of them is not lost among the others."""
import json
import os

import pytest

import planproof
import primitive_blocks
from planproof import Verdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = os.path.join(os.path.dirname(ROOT), "shared", "data", "depth")


def canonical(graph):
    """A graph of a plan file with its tensors numbered in the order in which they are named."""
    numbers = {}

    def number(name):
        return numbers.setdefault(name, len(numbers)) if isinstance(name, str) else float(name)

    rows = [[number(name), held] for name, held in graph["inputs"].items()]
    for operator in graph["operators"]:
        inputs = operator["in"] if isinstance(operator["in"], list) else [operator["in"]]
        rows.append([operator["op"], [number(name) for name in inputs], number(operator["out"]),
                     operator.get("attrs"), operator.get("over")])
    outputs = graph["outputs"]
    held = outputs.get if isinstance(outputs, dict) else lambda name: None
    return rows + [[number(name), held(name)] for name in outputs]


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_generator_writes_the_published_plans(layers):
    path = os.path.join(PUBLISHED, f"p{layers}.json")
    if not os.path.exists(path):
        pytest.skip("the published plans are not here")
    with open(path, encoding="utf-8") as file:
        published = json.load(file)
    made = primitive_blocks.plan(layers)
    assert made["plan"]["mesh"] == published["plan"]["mesh"]
    assert canonical(made["specification"]) == canonical(published["specification"])
    assert canonical(made["plan"]["programs"][0]) == canonical(published["plan"]["programs"][0])


def verified(plan, directory, **options):
    path = directory / "plan.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    return planproof.verify(path, cache=False, **options)


def test_layers_alike_are_related_and_decided_once(tmp_path):
    reports = [verified(primitive_blocks.plan(layers), tmp_path) for layers in (4, 12)]
    assert [report.verdict for report in reports] == [Verdict.PROVED] * 2
    few, many = (report.stages for report in reports)
    assert many.total > 2 * few.total
    assert many.classes == few.classes


def of_layer(plan, layer, layers, op, which=0):
    """The operator of the forward pass of this layer that is number `which` of its kind."""
    alike = [operator for operator in plan["plan"]["programs"][0]["operators"]
             if operator["op"] == op]
    return alike[which + layer * (len(alike) // layers)]


def twice_the_scale(plan, layer, layers):
    """Of the scores of the layer's attention."""
    scores = of_layer(plan, layer, layers, "max")["in"]
    operator, = (each for each in plan["plan"]["programs"][0]["operators"] if each["out"] == scores)
    operator["in"][1] *= 2


def another_function(plan, layer, layers):
    of_layer(plan, layer, layers, "tanh")["op"] = "sigmoid"


def a_sum_left_out(plan, layer, layers):
    operator = of_layer(plan, layer, layers, "all_reduce")
    operator["op"] = "identity"
    del operator["over"]


def another_operand(plan, layer, layers):
    """A product commutes; what it is of does not."""
    operator = of_layer(plan, layer, layers, "exp")
    for reader in plan["plan"]["programs"][0]["operators"]:
        if reader["op"] == "div" and reader["in"][0] == operator["out"]:
            reader["in"][0] = reader["in"][1]


FAULTS = [twice_the_scale, another_function, a_sum_left_out, another_operand]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_one_of_two_layers_is_refuted(fault, tmp_path):
    plan = primitive_blocks.plan(2)
    fault(plan, 1, 2)
    assert verified(plan, tmp_path).verdict is Verdict.REFUTED


@pytest.mark.parametrize("fault", [twice_the_scale, a_sum_left_out])
def test_a_fault_in_one_of_many_layers_is_not_proved(fault, tmp_path):
    plan = primitive_blocks.plan(8)
    fault(plan, 4, 8)
    report = verified(plan, tmp_path, explain=False, stage_timeout=20)
    assert report.verdict in (Verdict.UNKNOWN, Verdict.REFUTED)


def test_a_wrong_step_in_one_of_many_layers_is_refuted(tmp_path):
    """The fault shows in one weight only, behind all layers: those around it must not blur its numbers."""
    plan = primitive_blocks.plan(32)
    operators = plan["plan"]["programs"][0]["operators"]
    updates = [operator for operator in operators if operator["op"] == "sub" and
               str(operator["in"][0]).startswith("p_9_")]
    step, = (operator for operator in operators if operator["out"] == updates[2]["in"][1])
    step["in"][1] *= 2
    report = verified(plan, tmp_path)
    assert report.verdict is Verdict.REFUTED
    assert "a constant of mul" in report.headline
