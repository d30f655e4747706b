"""Mutants of traces and sources: what a mutant computes otherwise is told, on recorded values and on others."""
import ast
import copy
import random
from functools import partial

import pytest

torch = pytest.importorskip("torch")
from planproof.torch import launch, replay  # noqa: E402

import source_mutations  # noqa: E402
import trace_mutations  # noqa: E402
from other_values import Judge  # noqa: E402
from record_all import build, mesh_of  # noqa: E402


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Data parallel ranks: the judge, and the ranks' traces."""
    directory = tmp_path_factory.mktemp("ddp")
    paths = launch(partial(build, "ddp"), mesh_of("ddp"), directory, start_method="fork")
    reference, *ranks = [replay.read(path) for path in paths]
    return Judge(reference, ranks), [trace for trace, _ in ranks]


def changed(recorded, change):
    judge, traces = recorded
    traces = copy.deepcopy(traces)
    change(traces)
    return judge.difference(traces)


def test_ranks_agree_with_the_reference_on_recorded_values_and_on_others(recorded):
    judge, _ = recorded
    assert {seed for seed, _ in judge.ways} == {None, 1}
    assert changed(recorded, lambda traces: None) is None


def test_a_constant_that_changes_a_result_is_a_difference(recorded):
    def change(traces):
        entry = next(each for each in traces[0]["operators"] if each.get("op") == "aten.lerp_.Scalar")
        entry["args"][2] = 0.25

    found = changed(recorded, change)
    assert found.runs and found.text.startswith("rank 0 updated up.weight differs by ")


def test_a_reduction_that_changes_a_result_is_a_difference(recorded):
    def change(traces):
        for trace in traces:
            for entry in trace["operators"]:
                if entry.get("reduce") == "sum":
                    entry["reduce"] = "max"

    assert changed(recorded, change).runs


def test_names_that_are_exchanged_are_a_difference_though_the_log_is_the_same(recorded):
    def change(traces):
        inputs = {each["name"]: each for each in traces[1]["inputs"]}
        inputs["x"]["name"], inputs["y"]["name"] = "y", "x"

    assert changed(recorded, change).runs


@pytest.mark.parametrize("kind, name", [("gradient", "up.weight"), ("updated", "down.bias")])
def test_a_result_that_one_rank_lacks_is_a_difference(recorded, kind, name):
    def change(traces):
        traces[1]["results"] = [each for each in traces[1]["results"] if (each["kind"], each["name"]) != (kind, name)]

    assert changed(recorded, change).text == f"rank 1 has no {kind} {name}"


def test_a_log_that_pytorch_refuses_is_no_difference_in_numbers(recorded):
    def change(traces):
        next(each for each in traces[0]["operators"] if each.get("op") == "aten.lerp_.Scalar")["op"] = "aten.lerp_.Tensor"

    assert not changed(recorded, change).runs


@pytest.mark.parametrize("kind", trace_mutations.KINDS)
def test_a_mutation_changes_the_trace_that_it_says_it_changes(recorded, kind):
    _, traces = recorded
    made = 0
    for seed in range(80):
        rng, trace = random.Random(seed), copy.deepcopy(traces[0])
        text = kind(trace, rng.randrange(len(trace["operators"])), rng)
        if text is not None:
            made += 1
            assert trace != traces[0], text
    absent = ("change_type", "move_slice", "change_participants", "change_view", "change_reduction")  # or seldom in so small a program
    assert made or kind.__name__ in absent


SOURCE = """
SIZE = 4
def build(mesh):
    rank, scale = mesh.get_rank(), 2
    x = torch.randn(SIZE, scale).mean(0, keepdim=True)
    if mesh is not None:
        x = x[rank:] * 0.5 - torch.cos(x)
    with torch.no_grad():
        x.mul_(scale)
    x.add_(1)
    for each in (x, scale):
        dist.all_reduce(each)
    return x if rank == 0 else -x
"""


@pytest.mark.parametrize("kind", source_mutations.KINDS)
def test_each_kind_of_slip_is_made_in_a_function_and_keeps_positions(kind, monkeypatch):
    monkeypatch.setattr(source_mutations, "KINDS", [kind])
    lines = set(range(1, SOURCE.count("\n") + 1))
    before = ast.unparse(ast.parse(SOURCE))
    texts = set()
    for seed in range(20):
        tree, text = source_mutations.mutated(SOURCE, lines, random.Random(seed))
        texts.add(text)
        after = ast.unparse(tree)
        assert after != before and after.startswith("SIZE = 4\n"), text
        compile(tree, "source.py", "exec")
    assert texts


def test_lines_that_are_not_run_are_left_alone():
    for seed in range(30):
        found = source_mutations.mutated(SOURCE, {7}, random.Random(seed))
        assert found is None or found[1].startswith("line 7: ")
