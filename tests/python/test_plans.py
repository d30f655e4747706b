"""Plans as people write them, without lineage (plans/): every one is proved, and one wrong variant of each
is not; the first line of its report names the operator that is wrong."""
import pytest

import planproof
from verify_plans import NAMES, load

MODULES = [load(name) for name in NAMES]


def parametrized(cases_of):
    """One test for each case: module and arguments."""
    rows = [(module, case) for module in MODULES for case in cases_of(module)]
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
