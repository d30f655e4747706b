"""What a user says in a file wins over what the framework says, and the verdict lists it."""
import json

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Training, check, launch  # noqa: E402
from planproof.torch.launch import main  # noqa: E402
from planproof.torch.overrides import Entry, Overrides  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.tensor import Shard, distribute_tensor  # noqa: E402

PARTS = {"gate_up": {"dim": 0, "axis": "tp", "pieces": 2}, "down": {"dim": 1, "axis": "tp"}}
HIDDEN = 6


class Summed(torch.autograd.Function):
    """Sums in the forward pass only, as after a layer that is cut by rows."""

    @staticmethod
    def forward(_, y):
        y = y.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(_, gradient):
        return gradient


class Gated(nn.Module):
    """A gated MLP of plain parameters. Rank 0 of two has a third of the hidden features, the other the rest."""

    def __init__(self, rank, ranks):
        super().__init__()
        gate, up, down = (torch.randn(shape, generator=torch.Generator().manual_seed(seed))
                          for seed, shape in enumerate([(HIDDEN, 4), (HIDDEN, 4), (4, HIDDEN)]))
        own = slice(None) if ranks == 1 else slice(0, 2) if rank == 0 else slice(2, HIDDEN)
        self.gate_up = nn.Parameter(torch.cat([gate[own], up[own]]))
        self.down = nn.Parameter(down[:, own].contiguous())
        self.ranks = ranks

    def forward(self, x):
        gate, up = nn.functional.linear(x, self.gate_up).chunk(2, -1)
        y = nn.functional.linear(nn.functional.silu(gate) * up, self.down)
        return Summed.apply(y) if self.ranks > 1 else y


def training(model, x):
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training(step, model, optimizer, {"x": x})


def data():
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(9))


def gated(mesh):
    rank, ranks = (0, 1) if mesh is None else (mesh.get_local_rank("tp"), mesh.size())
    return training(Gated(rank, ranks), data())


def fork(build, mesh, **options):
    return check(build, mesh, start_method="fork", cache=False, timeout=120, **options)


def test_parts_of_plain_parameters_are_said():
    assert not fork(gated, {"tp": 2})
    report = fork(gated, {"tp": 2}, overrides=PARTS)
    assert report.proved, report.text
    assert "overrides: gate_up is cut along dimension 0 over tp in 2 pieces: gate_up" in report.assumptions


def test_a_wrong_part_is_not_proved():
    assert not fork(gated, {"tp": 2}, overrides={**PARTS, "gate_up": {"dim": 0, "axis": "tp"}})


def test_parts_may_be_uneven(tmp_path):
    launch(gated, {"tp": 2}, tmp_path, start_method="fork", overrides=PARTS)
    found = [{each["name"]: each for each in load(tmp_path / f"rank{rank}.trace")["inputs"]} for rank in (0, 1)]
    assert [rank["gate_up"]["of"] for rank in found] == [[12, 4], [12, 4]]
    assert [rank["gate_up"]["place"][0] for rank in found] == [[[0, 2], [6, 2]], [[2, 4], [8, 4]]]
    assert found[1]["down.exp_avg"]["place"] == [[[0, 4]], [[2, 4]]]


class Named(nn.Module):
    """A layer under a name."""

    def __init__(self, name):
        super().__init__()
        self.add_module(name, nn.Linear(4, 3))

    def forward(self, x):
        (layer,) = self.children()
        return layer(x)


def data_parallel(mesh):
    """Without a reduction of gradients: they are summands."""
    if mesh is None:
        return training(Named("inner"), data())
    return training(Named("outer"), data().chunk(2)[mesh.get_rank()].clone())


SAID = {"x": {"dim": 0, "axis": "dp"}, "outer.*": {"rename": "inner.*"},
        "*": {"reduce": "avg", "over": "dp"}}


def test_inputs_names_and_reductions_are_said(tmp_path):
    launch(data_parallel, {"dp": 2}, tmp_path, start_method="fork", overrides=SAID)
    content = load(tmp_path / "rank1.trace")
    inputs = {each["name"]: each for each in content["inputs"]}
    assert inputs["x"]["of"] == [4, 4] and inputs["x"]["place"] == [[[2, 2]], [[0, 4]]]
    assert "inner.weight" in inputs and "outer.weight" not in inputs
    results = {(each["kind"], each["name"]): each for each in content["results"]}
    for key in (("output", "loss"), ("gradient", "inner.weight")):
        assert results[key]["reduce"] == "avg" and content["groups"][results[key]["group"]] == [0, 1]
    assert "overrides: outer.* is inner.* in the single-process program: outer.bias, outer.weight" in content["notes"]


def doubled(mesh):
    """A DTensor's local tensor is written, whatever it is a part of."""
    model = nn.Linear(4, 6, bias=False)
    if mesh is not None:
        model.weight = nn.Parameter(distribute_tensor(model.weight.data, mesh, [Shard(0)]))

    def step():
        with torch.no_grad():
            model.weight.mul_(2.0)

    return Training(step, model)


def test_a_part_wins_over_that_of_a_dtensor_and_says_so(tmp_path):
    two = {"weight": {"cuts": [{"dim": 0, "axis": "tp", "pieces": 3}]}}
    launch(doubled, {"tp": 2}, tmp_path, start_method="fork", overrides=two)
    content = load(tmp_path / "rank0.trace")
    assert content["inputs"][0]["place"] == [[[0, 1], [2, 1], [4, 1]], [[0, 4]]]
    assert content["notes"] == ["overrides: weight is cut along dimension 0 over tp in 3 pieces, "
                                "against what metadata say of 1: weight"]


def test_a_later_pattern_wins(tmp_path):
    launch(gated, {"tp": 2}, tmp_path, start_method="fork",
           overrides={"*": {"whole": True}, "down": {"dim": 1, "axis": "tp"}})
    found = {each["name"]: each for each in load(tmp_path / "rank0.trace")["inputs"]}
    assert "place" in found["down"] and "place" not in found["gate_up"]


@pytest.mark.parametrize("overrides, message", [
    ({"gate_upp": {"dim": 0, "axis": "tp"}},
     'overrides: no parameter, buffer, input or output matches "gate_upp"; there are gate_up'),
    ({"gate_up": {"reduce": "sum", "over": "tp"}, "x": {"reduce": "sum", "over": "tp"}},
     'overrides: no output or gradient matches "x"'),
    ({"down": {"whole": True}, "d*": {"dim": 1, "axis": "tp"}},
     'overrides: "down" says nothing that a later pattern does not say otherwise'),
    ({"down": {"dim": 2, "axis": "tp"}},
     'overrides: "down": down has 2 dimensions, none of number 2'),
    ({"down": {"dim": 0, "axis": "dp"}},
     'overrides: "down": no axis of the mesh is named "dp"; there are tp'),
    ({"down": {"dim": 1, "axis": "tp", "pieces": 3}},
     'overrides: "down": down has 2 elements along dimension 1 of rank 0, not 3 equal pieces')])
def test_what_fits_nothing_is_one_line(overrides, message, tmp_path):
    with pytest.raises(RecordingError) as caught:
        launch(gated, {"tp": 2}, tmp_path, start_method="fork", overrides=overrides)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value, message", [
    ("tp", 'an object is expected, such as {"dim": 0, "axis": "tp"}'),
    ({}, 'an object is expected, such as {"dim": 0, "axis": "tp"}'),
    ({"dims": 0}, 'unknown key "dims"; known are dim, axis, pieces, cuts, whole, rename, reduce, over'),
    ({"dim": 0}, "a cut has a dim, an axis, and pieces if they are more than one"),
    ({"dim": -1, "axis": "tp"}, "dim is a number from 0, pieces one from 1"),
    ({"dim": True, "axis": "tp"}, "dim is a number from 0, pieces one from 1"),
    ({"axis": "tp"}, "axis and pieces belong to a dim"),
    ({"dim": 0, "axis": []}, "an axis is a name of the mesh's axes, or a list of them, outermost first"),
    ({"dim": 0, "axis": "tp", "whole": True}, "one of dim, cuts and whole says which part it is"),
    ({"cuts": [{"dim": 0, "axis": "a"}, {"dim": 0, "axis": "b"}]},
     "two cuts of one dimension; its axis can be a list, outermost first"),
    ({"whole": False}, "whole is true, or left out"),
    ({"rename": "b.*.*"}, "rename is a name with at most so many * as the pattern has"),
    ({"reduce": "max", "over": "dp"}, 'reduce is "sum" or "avg"'),
    ({"reduce": "sum"}, "reduce and over belong together")])
def test_what_is_not_understood_is_one_line(value, message):
    with pytest.raises(RecordingError) as caught:
        Overrides.read({"a.*": value})
    assert str(caught.value) == f'overrides: "a.*": {message}'


@pytest.mark.parametrize("text, message", [
    ("[]", "relations.json: an object of patterns is expected"),
    ("{", "Expecting property name"),
    ('{"a": {"whole": true}, "a": {"whole": true}}', '"a" is there twice')])
def test_a_file_that_is_none_is_one_line(text, message, tmp_path, capsys):
    path = tmp_path / "relations.json"
    path.write_text(text)
    assert main(["no.py", "--mesh", "tp=2", "--relations", str(path)]) == 64
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert main(["no.py", "--mesh", "tp=2", "--relations", str(tmp_path / "none.json")]) == 64


def test_a_file_is_what_it_says(tmp_path):
    path = tmp_path / "relations.json"
    path.write_text(json.dumps(PARTS))
    read = Overrides.read(path)
    assert read.label == "relations.json" and read.entries == Overrides.read(PARTS).entries


def test_stars_stand_for_any_text_and_nothing_else_does():
    assert Entry("*.layers.*.weight").matched("a.b.layers.3.up.weight") == ("a.b", "3.up")
    assert Entry("a.?").matched("a.b") is None and Entry("a.b").matched("a.b") == ()


def test_the_single_process_program_is_what_it_is(tmp_path):
    launch(gated, {}, tmp_path, start_method="fork", overrides={"nothing": {"whole": True}})
    assert not load(tmp_path / "reference.trace")["notes"]
