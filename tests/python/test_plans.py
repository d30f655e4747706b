"""Plans as people write them, without lineage (plans/): every one is proved, and one wrong variant of each
is not; the first line of its report names the operator that is wrong."""
import glob
import importlib
import os
import sys

import pytest

import planproof

PLANS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans")
sys.path.insert(0, PLANS)
MODULES = {name: importlib.import_module(name) for name in sorted(
    os.path.basename(path)[:-len(".py")] for path in glob.glob(os.path.join(PLANS, "*.py")))}


def parametrized(cases_of):
    """One test for each case: module and arguments."""
    rows = [(module, case) for module in MODULES.values() for case in cases_of(module)]
    words = ["-".join([module.__name__, *(f"{key}={value}" for key, value in case.items())])
             for module, case in rows]
    return pytest.mark.parametrize("module, case", rows, ids=words)


def lineage_of(plan):
    return [tensor for entry in plan.content()["plan"]["programs"]
            for tensor in entry.get("lineage", {})]


@parametrized(lambda module: module.CASES)
def test_it_is_proved(module, case):
    plan = module.plan(**case)
    assert lineage_of(plan) == []
    planproof.assert_verified(plan, cache=False)


@parametrized(lambda module: module.FAULTY)
def test_its_fault_is_named(module, case):
    report = planproof.verify(module.plan(**case, fault=True), cache=False)
    assert report.verdict in (planproof.Verdict.REFUTED, planproof.Verdict.MALFORMED), report.text
    assert module.NAMES in report.headline, module.FAULT
