"""Plans as tests: the fixture `verify_plan` and the marker `planproof`."""
from __future__ import annotations

from typing import Any, Callable, Dict

import pytest

from planproof.report import Report
from planproof.verification import PlanLike, assert_verified


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "planproof(**options): options of verify_plan in this test, such as timeout=60, "
        'verdict="REFUTED" or engine="audit"')


@pytest.fixture
def verify_plan(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Call it with a plan: the test fails unless it is PROVED. Gives the report."""
    options: Dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("planproof"))):
        options.update(marker.kwargs)

    def check(plan: PlanLike, **more: Any) -> Report:
        __tracebackhide__ = True
        report = assert_verified(plan, **{**options, **more})
        request.node.add_report_section("call", "planproof", str(report))
        return report

    return check
