"""Plans as tests of somebody else's project."""
import pytest

import planproof

PLAN = """
    import planproof
    import pytest

    def plan(**keys):
        model = planproof.Specification()
        x, = model.inputs(x=[4, 4])
        model.outputs({model.sum(x, out="total"): {}})
        whole = planproof.Plan(model, mesh={"dp": 2})
        p = whole.program()
        p.all_reduce(p.sum(p.input("x", {0: "dp"})), over="dp", out="total", **keys)
        return whole
"""


@pytest.fixture(autouse=True)
def no_entry_points(monkeypatch):
    """The plugin under test is that of this checkout, whether or not the package is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester, tests, *arguments):
    pytester.makepyfile(PLAN + tests)
    return pytester.runpytest_inprocess("-p", "planproof.pytest_plugin", *arguments)


def test_a_proved_plan_passes(pytester):
    run(pytester, """
    def test_plan(verify_plan):
        assert verify_plan(plan()).operators.parallel == 4
    """).assert_outcomes(passed=1)


def test_a_wrong_plan_fails_with_the_explanation(pytester):
    result = run(pytester, """
    def test_plan(verify_plan):
        verify_plan(plan(reduce="avg"))
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        ">*verify_plan(plan(reduce=\"avg\"))",
        "E*AssertionError: REFUTED: stage total: *averages where a sum is needed",
        "E*written at *test_a_wrong_plan_fails_with_the_explanation.py:*"])


def test_the_marker_has_options(pytester):
    run(pytester, """
    @pytest.mark.planproof(verdict="REFUTED", timeout=60)
    def test_a_known_bug(verify_plan):
        verify_plan(plan(reduce="avg"))

    @pytest.mark.planproof(timeout=0.0001)
    class TestSlow:
        def test_timeout(self, verify_plan):
            with pytest.raises(planproof.VerificationTimeout):
                verify_plan(plan())

        @pytest.mark.planproof(timeout=60)
        def test_the_nearest_marker_counts(self, verify_plan):
            verify_plan(plan())
    """, "--strict-markers").assert_outcomes(passed=3)


def test_the_plugin_is_an_entry_point():
    with open(planproof.__file__.replace("python/planproof/__init__.py", "pyproject.toml"),
              encoding="utf-8") as file:
        assert 'planproof = "planproof.pytest_plugin"' in file.read()
