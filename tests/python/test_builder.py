"""What the builder writes, and what it refuses."""
from decimal import Decimal
from fractions import Fraction

import pytest

import planproof
from planproof import PlanError
from planproof.encoding import Layout, loads


def without_sources(content):
    if isinstance(content, dict):
        return {key: without_sources(part) for key, part in content.items() if key != "source"}
    return [without_sources(part) for part in content] if isinstance(content, list) else content


def program_of(plan, index=0):
    return without_sources(plan.content()["plan"]["programs"][index])


@pytest.fixture
def p():
    model = planproof.Specification()
    model.inputs(x=[8, 16], ids="int64[8]")
    model.parameters(w=[32, 16], table=[100, 16])
    return planproof.Plan(model, mesh={"dp": 2, "tp": 2}, microbatches=4).program()


def test_a_specification_is_what_the_format_says():
    model = planproof.Specification(note="a model")
    x = model.input("x", [8, 16], premise="positive")
    ids = model.input("ids", [8], dtype="int64", premise=(0, 4))
    w = model.parameter("w", [32, 16])
    y = model.linear(x, w, out="y")
    loss = model.sum(y * Fraction(1, 3), out="loss", dim=[0, 1])
    grad, = [model.gradients(loss, [w])[0]]
    new = model.sgd(w, grad, lr=0.1, out="w.new")
    model.literal("0.333333343", "1/3")
    model.update(w, new)
    model.relation(x, {0: "dp"})
    model.outputs({y: {0: ["dp", "microbatch"]}})
    assert ids.name == "ids"
    assert without_sources(model.content()) == {
        "note": "a model",
        "inputs": {"x": [8, 16], "ids": {"shape": [8], "dtype": "int64"}},
        "parameters": {"w": [32, 16]},
        "premises": {"x": "positive", "ids": [0, 4]},
        "literals": {"0.333333343": "1/3"},
        "relations": {"x": {"0": "dp"}},
        "operators": [
            {"op": "linear", "in": ["x", "w"], "out": "y"},
            {"op": "mul", "in": ["y", {"literal": "1/3"}], "out": "mul.1"},
            {"op": "sum", "in": "mul.1", "out": "loss", "attrs": {"dim": [0, 1]}},
            {"op": "sgd", "in": ["w", "grad.w"], "out": "w.new", "attrs": {"lr": 0.1}}],
        "gradients": {"loss": "loss", "of": ["w"]},
        "updates": {"w": "w.new"},
        "outputs": {"y": {"0": ["dp", "microbatch"]}}}


def test_outputs_without_relation_are_a_list():
    model = planproof.Specification()
    x, = model.inputs(x=[2])
    model.outputs(model.relu(x, out="y"))
    assert model.content()["outputs"] == ["y"]


def test_collectives_are_what_the_format_says(p):
    x = p.input("x", {0: "dp"})
    p.all_reduce(x, over=["dp", "tp"], reduce="avg", out="a", async_="h")
    p.wait("h")
    p.all_to_all(x, over="tp", split_dim=0, concat_dim=1, out="b")
    p.permute(x, over="tp", pairs=[(0, 1)], out="c")
    p.chunk(x, over="tp", dim=0, out="d")
    p.accumulate(x, out="e")
    p.broadcast(x, over="tp", root=1, out="f")
    first, second = p.chunk(x, chunks=2, dim=1)
    p.permute(x, dims=[1, 0], out="g")
    assert (first.name, second.name) == ("chunk.1.0", "chunk.1.1")
    assert program_of(p.plan)["operators"] == [
        {"op": "all_reduce", "over": ["dp", "tp"], "reduce": "avg", "in": "x", "out": "a",
         "async": "h"},
        {"op": "wait", "in": "h"},
        {"op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 1, "in": "x", "out": "b"},
        {"op": "permute", "over": "tp", "pairs": [[0, 1]], "in": "x", "out": "c"},
        {"op": "chunk", "over": "tp", "dim": 0, "in": "x", "out": "d"},
        {"op": "accumulate", "in": "x", "out": "e"},
        {"op": "broadcast", "over": "tp", "root": 1, "in": "x", "out": "f"},
        {"op": "chunk", "in": "x", "out": ["chunk.1.0", "chunk.1.1"],
         "attrs": {"chunks": 2, "dim": 1}},
        {"op": "permute", "in": "x", "out": "g", "attrs": {"dims": [1, 0]}}]


def test_between_programs_every_participant_issues_the_collective(model):
    plan = planproof.Plan(model, mesh={"pp": 2})
    a, b = plan.program("a", {"pp": 0}), plan.program("b", {"pp": 1})
    results = plan.all_reduce([a.input("x", {}), b.input("x", {})], out="sum")
    moved = b.move(results[0], out="again", channel="back")
    assert [str(result) for result in results] == ["sum", "sum"] and moved.name == "again"
    shared = {"op": "all_reduce", "in": ["a:x", "b:x"], "out": "sum"}
    assert program_of(plan, 0)["operators"] == [shared]
    assert program_of(plan, 1)["operators"] == [
        shared, {"op": "move", "in": "a:sum", "out": "again", "channel": "back"}]


def test_backward_names_gradients_by_kind_of_operand(p):
    x, w = p.inputs(x={0: "dp"}, w={})
    h = p.linear(x, w)
    y = p.relu(h)
    grad_h = p.backward(y, p.input("x2", {"of": "x"}), [h])
    grads = p.backward(h, grad_h, [x, w])
    assert [str(grad) for grad in (grad_h, *grads)] == ["grad.linear.1", "d.x", "d.w"]
    assert program_of(p.plan)["operators"][2:] == [
        {"backward": "relu.1", "grad": {"relu.1": "x2"}, "out": {"linear.1": "grad.linear.1"}},
        {"backward": "linear.1", "grad": {"linear.1": "grad.linear.1"},
         "out": {"x": "d.x", "w": "d.w"}}]


def test_backward_without_operands_implies_the_format_s_names(p):
    ids, table = p.inputs(ids={}, table={})
    p.embedding(ids, table, out="e")
    grad = p.backward("e", "table")
    assert grad.name == "grad.table"  # ids are integers
    assert "out" not in program_of(p.plan)["operators"][1]


def test_gradients_walk_back_and_add_what_several_consumers_contribute(p):
    x, w = p.inputs(x={0: "dp"}, w={})
    h = p.linear(x, w)
    y = p.relu(h) + p.silu(h)
    grad = p.gradients(y, "w", {w: "grad.w"})
    operators = program_of(p.plan)["operators"][4:]
    assert grad.name == "grad.w"
    assert [entry.get("backward", entry.get("op")) for entry in operators] == [
        "add.1", "silu.1", "relu.1", "add", "linear.1"]
    assert operators[-1] == {"backward": "linear.1", "grad": {"linear.1": "add.2"},
                             "out": {"w": "grad.w"}}


def test_gradients_stop_at_a_collective(p):
    x, w = p.inputs(x={0: "dp"}, w={})
    y = p.relu(p.all_reduce(p.linear(x, w), over="tp", out="sum"))
    with pytest.raises(PlanError, match="all_reduce .sum. is on the way"):
        p.gradients(y, "w", [w])
    assert p.gradients(y, "w", ["sum"]).name == "grad.sum"


def test_phases_and_schedules(p):
    x, w = p.inputs(x={0: ["dp", "microbatch"]}, w={})
    with p.phase("F0"):
        y = p.linear(x, w)
    with pytest.raises(PlanError, match='after phase "F0" and belongs to none'):
        p.relu(y)
    with p.phase("update"):
        p.accumulate(y)
    p.schedule(planproof.loop("i", 0, "microbatches", ["F0:i"]), "update")
    content = program_of(p.plan)
    assert [entry.get("phase") for entry in content["operators"]] == ["F0", "update"]
    assert content["schedule"] == [{"for": "i", "from": 0, "to": "microbatches", "do": ["F0:i"]},
                                   "update"]


def test_one_f_one_b_fills_the_pipeline_first():
    assert planproof.one_f_one_b(0, 2, 4) == [
        "F0:0..1", {"for": "i", "from": 0, "to": 3, "do": ["F0:i+1", "B0:i"]}, "B0:3..4"]
    assert planproof.one_f_one_b(1, 2, 4) == [
        {"for": "i", "from": 0, "to": 4, "do": ["F0:i", "B0:i"]}]


def test_exceptions_may_define_what_they_replace(p):
    x, = p.inputs(x={0: "dp"})
    y = p.rms_norm(x, out="y")
    with p.exception(y, at={"dp": 1}):
        p.rms_norm(x, eps=2, out=y)
        p.relu(x, out="temporary")
    with pytest.raises(PlanError, match='"temporary" is not defined'):
        p.relu("temporary")
    with pytest.raises(PlanError, match="already defined"):
        p.relu(x, out="y")
    assert program_of(p.plan)["exceptions"] == [
        {"at": {"dp": 1}, "replace": "y", "with": [
            {"op": "rms_norm", "in": "x", "out": "y", "attrs": {"eps": 2}},
            {"op": "relu", "in": "x", "out": "temporary"}]}]


def test_buffers_lineage_and_outputs(p):
    x, = p.inputs(x={0: "dp"})
    y, z = p.relu(x, out="y"), p.silu(x, out="z")
    p.buffers("ring", y, z, slots=2)
    p.lineage({y: {"of": "x", 0: "dp", "factor": Fraction(1, 2)}})
    p.outputs({"loss": z})
    content = program_of(p.plan)
    assert content["buffers"] == {name: {"name": "ring", "slots": 2} for name in "yz"}
    assert content["lineage"] == {"y": {"of": "x", "0": "dp", "factor": {"literal": "1/2"}}}
    assert content["outputs"] == {"loss": "z"}


def test_prescribed_relations_need_not_be_repeated():
    model = planproof.Specification()
    model.relation(model.input("x", [8]), {0: "dp"})
    p = planproof.Plan(model, mesh={"dp": 2}).program()
    p.input("x")
    assert program_of(p.plan)["inputs"] == {"x": {"0": "dp"}}


@pytest.mark.parametrize("wrong, message", [
    (lambda p, x: p.relu("y"), '"y" is not defined in program "program0"'),
    (lambda p, x: p.linear(x), r"linear\(x, w, bias\?\) is given 1 operand: x"),
    (lambda p, x: p.relu(x, x), r"relu\(x\) is given 2 operands: x, x"),
    (lambda p, x: p.sgd(x), r"sgd\(p, g\) or sgd\(p, g, buffer\)"),
    (lambda p, x: p.rleu(x), 'no operator "rleu" is declared; did you mean "relu"'),
    (lambda p, x: p.softmax(x, dmi=1), 'no attribute "dmi"; did you mean "dim"'),
    (lambda p, x: p.softmax(x, dim=float("nan")), "no finite number"),
    (lambda p, x: p.relu(x, out="x"), '"x" is already defined'),
    (lambda p, x: p.relu(True), "an operand is a tensor"),
    (lambda p, x: p.relu(p.plan.specification.tensor("w")), "a tensor of the specification"),
    (lambda p, x: p.input("ww"), 'no tensor "ww"; did you mean "w"'),
    (lambda p, x: p.input("w", {0: "pt"}), 'no axis of the mesh is named "pt"'),
    (lambda p, x: p.input("w", {"patrial": "tp"}), 'no key "patrial"; did you mean "partial"'),
    (lambda p, x: p.all_reduce(x, over="pp"), 'no axis of the mesh is named "pp"'),
    (lambda p, x: p.all_reduce(x), "needs an axis of the mesh"),
    (lambda p, x: p.backward("x"), 'defines "x"'),
    (lambda p, x: p.backward(p.relu(x)), '"grad.relu.1" is not defined'),
    (lambda p, x: p.backward(p.relu(x), "x", ["w"]), 'does not read "w"'),
    (lambda p, x: p.gradients(p.relu(x), "x", [p.silu(x)]), "has no part in relu.1"),
    (lambda p, x: p.move("h"), "program:tensor"),
    (lambda p, x: p.plan.program("program0"), 'two programs are named "program0"'),
    (lambda p, x: p.plan.specification.output(p.plan.specification.relu("x")), "needs a name"),
])
def test_what_is_wrong_is_said_at_once(p, wrong, message):
    with pytest.raises(PlanError, match=message) as raised:
        wrong(p, p.input("x", {0: "dp"}))
    assert raised.value.source.file.endswith("test_builder.py")


def test_a_tensor_of_another_program_is_refused(model):
    plan = planproof.Plan(model, mesh={"pp": 2})
    a, b = plan.program("a", {"pp": 0}), plan.program("b", {"pp": 1})
    with pytest.raises(PlanError, match='a tensor of program "a", not of program "b": receive it'):
        b.relu(a.input("x", {}))


def test_references_to_later_tensors_are_checked_in_the_end(model):
    plan = planproof.Plan(model, mesh={"pp": 2})
    a, b = plan.program("a", {"pp": 0}), plan.program("b", {"pp": 1})
    a.move("b:later")
    with pytest.raises(PlanError, match='"later" is not defined in program "b"'):
        plan.content()
    b.relu(b.input("x", {}), out="later")
    plan.content()


def test_tensors_have_no_truth_value_and_are_no_sequences(p):
    x = p.input("x", {})
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    with pytest.raises(TypeError, match="one tensor"):
        _, _ = x


def test_numbers_stay_exact():
    text = '{"a": 0.1000000000000000055511151231257827, "b": 1e-7, "c": [1, 2.50]}'
    value = loads(text)
    assert value["a"] == Decimal("0.1000000000000000055511151231257827")
    assert loads(Layout(value).text) == value
    with pytest.raises(PlanError, match="stands twice"):
        loads('{"a": 1, "a": 2}')
    with pytest.raises(PlanError, match="not valid JSON"):
        loads('{"a": ')


def test_unknown_operators_are_no_attributes(p):
    assert hasattr(p, "relu") and not hasattr(p, "no_such_operator") and not hasattr(p, "_x")
    assert p.op("no_such_operator", p.input("x", {})).name == "no_such_operator.1"
