"""Plans in files: read, written, generated, mutated."""
import glob
import os

import pytest

import planproof
from conftest import ROOT
from planproof.encoding import Layout, loads

# Beside plans there are dumps of training runs, and approved approximations.
DUMPS = os.path.join(ROOT, "examples", "compare")
FILES = [path for path in glob.glob(os.path.join(ROOT, "examples", "**", "*.json"), recursive=True)
         if not path.endswith(("missing_comma.json", "_approved.json")) and not path.startswith(DUMPS)]


@pytest.mark.parametrize("path", FILES, ids=[os.path.basename(path) for path in FILES])
def test_what_is_read_is_written_again(path):
    with open(path, encoding="utf-8") as file:
        content = loads(file.read())
    assert loads(Layout(planproof.load(path).content()).text) == content


def test_a_plan_that_was_read_can_be_continued():
    plan = planproof.load(os.path.join(ROOT, "examples", "first_plan", "plan.json"))
    p = plan.programs[0]
    p.relu("y", out="more")
    p.backward("more", "grad.y", ["y"])
    assert planproof.verify(plan).proved
    with pytest.raises(planproof.PlanError, match='"y" is already defined'):
        p.relu("x", out="y")


def test_the_binary_form_is_read():
    plan = planproof.load(planproof.generate("llama-tiny", dp=2, pp=2, microbatches=2))
    assert plan.microbatches == 2 and plan.specification is not None
    assert planproof.verify(plan).proved


@pytest.mark.parametrize("text, message", [
    ('{"planproof": 2}', "version 2"), ('{"planproof": 1, "problem": {}}', "problem"),
    ("{", "not valid JSON"), ('{"planproof": 1, "plan": {"programs": [3]}}', "no plan file"),
    ('{"planproof": 1, "planproof": 1}', "stands twice")])
def test_what_is_no_plan_is_refused(tmp_path, text, message):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(planproof.PlanError, match=message):
        planproof.load(path)


def test_generated_plans_and_mutants(tmp_path):
    plan = planproof.generate("llama-tiny", dp=2, tp=2, sequence_parallel=True)
    logical, parallel = plan
    assert os.path.exists(logical) and "operators" in str(plan)
    assert planproof.verify(plan).proved
    assert "devices" in planproof.show(plan)
    mutant = planproof.mutate(plan, "BR1", seed=0)
    assert mutant.description.startswith("BR1: all_reduce")
    assert planproof.verify(mutant).verdict is planproof.Verdict.REFUTED
    kept = planproof.generate("gpt-tiny", output=tmp_path / "gpt", tp_shares=[3, 1], tp=2)
    assert kept.paths[0] == str(tmp_path / "gpt" / "logical.plan")
    temporary = os.path.dirname(logical)
    del plan, logical, parallel
    assert not os.path.exists(temporary)


def test_wrong_names_of_models_and_bugs_are_errors(build):
    with pytest.raises(planproof.CommandError, match="lama-tiny"):
        planproof.generate("lama-tiny")
    with pytest.raises(planproof.CommandError):
        planproof.mutate(build(), "BR99")
