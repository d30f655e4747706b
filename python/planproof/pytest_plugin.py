"""Plans and PyTorch programs as tests: the fixtures `verify_plan` and `verify_training`, and the marker `planproof`."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping

import pytest

from planproof.report import Report
from planproof.verification import PlanLike, assert_verified, expect


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "planproof(**options): options of verify_plan and verify_training in this test, "
        'such as timeout=60, verdict="REFUTED" or engine="audit"')


def _marked(request: pytest.FixtureRequest) -> Dict[str, Any]:
    """The options of a test's markers; the nearest one counts."""
    options: Dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("planproof"))):
        options.update(marker.kwargs)
    return options


@pytest.fixture
def verify_plan(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Call it with a plan: the test fails unless it is PROVED. Gives the report."""
    options = _marked(request)

    def check(plan: PlanLike, **more: Any) -> Report:
        __tracebackhide__ = True
        report = assert_verified(plan, **{**options, **more})
        request.node.add_report_section("call", "planproof", str(report))
        return report

    return check


@pytest.fixture
def verify_training(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Report]:
    """Call it with `build` and a mesh, as `planproof.torch.check`: the test fails unless the ranks compute
    what one process computes. Gives the report. The traces are in tmp_path, in `traces`, `traces-1`, ...; the
    test is skipped where torch is not installed."""
    pytest.importorskip("torch", reason="torch is not installed")
    options = _marked(request)
    used: List[int] = []

    def check(build: Callable[[Any], Any], mesh: Mapping[str, int], **more: Any) -> Report:
        __tracebackhide__ = True
        from planproof.torch import check as recorded_and_verified

        chosen = {"directory": tmp_path / "-".join(["traces", *map(str, used[-1:])]),
                  **options, **more}
        used.append(len(used) + 1)
        verdict = chosen.pop("verdict", "PROVED")
        report = recorded_and_verified(build, mesh, **chosen)
        request.node.add_report_section("call", "planproof", str(report))
        return expect(report, verdict)

    return check
