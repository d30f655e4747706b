"""From a plan to a report: verdicts, fields, lines of the program that wrote the plan."""
import inspect
import subprocess

import pytest

import planproof
from planproof import Verdict
from planproof.encoding import Layout
from planproof.positions import Positions
from planproof.source import Source

HERE = "test_verification.py"


def line_of(text):
    """Of the only line of this file that ends so."""
    lines = inspect.getsource(inspect.getmodule(line_of)).split("\n")
    found = [number for number, line in enumerate(lines, 1) if line.endswith(text)]
    assert len(found) == 1
    return found[0]


def test_a_right_plan_is_proved(build):
    report = planproof.verify(build(), cache=False)
    assert report and report.proved and report.verdict is Verdict.PROVED
    assert report.exit_code == 0 and report.violations == ()
    assert report.stages == planproof.report.Stages(4, 4, 4, 0, 0)
    assert report.operators.parallel == 8 and report.outputs.required == 2
    assert report.relations[0] == "loss: loss = loss[0:1]"
    assert report.assumptions == (
        "devices hold the slices of inputs that the plan declares: x, w",)
    assert report.time_s["total"] > 0 and report.engine == "hybrid" and not report.cache.used
    assert str(report) == report.text and report.headline.startswith("PROVED: ")
    assert repr(report) == f"<Report {report.headline}>"
    assert report.json["verdict"] == "PROVED"


def test_a_finding_names_the_lines_of_its_operators(build):
    plan = build(lambda p, part: p.identity(part))  # forgets the sum
    report = planproof.verify(plan)
    assert not report and report.verdict is Verdict.REFUTED
    finding = report.violations[0]
    assert finding.stage == "loss" and finding.devices == (0, 1)
    assert finding.cause.startswith("sum over tp missing")
    assert float(finding.witness.logical) != float(finding.witness.parallel)
    assert "conftest.py" in finding.logical_source
    place = f"{HERE}:{line_of('# forgets the sum')}: plan = build("
    assert any(place in source for source in finding.parallel_sources)
    assert place in report.explanation and report.explanation in report.text
    places = report.json["violations"][0]["parallel_places"]
    assert any(entry["file"].endswith(HERE) and entry["line"] == line_of("# forgets the sum")
               for entry in places)


def test_what_is_approved_is_assumed_and_listed(build):
    plan = build(lambda p, part: p.mul(p.all_reduce(part, over="tp"), 0.5, out="y"))
    assert planproof.verify(plan, cache=False).verdict is Verdict.REFUTED
    approved = [{"tensor": "y", "stands_for": "linear.1", "reason": "halved on purpose"}]
    report = planproof.verify(plan, cache=False, assume=approved)
    assert report.proved and report.headline.startswith("PROVED under 1 assumption: ")
    assumed, = report.assumed
    assert assumed.tensor == "y" and assumed.reason == "halved on purpose"
    assert assumed.need == "used" and report.json["assumed"][0]["stands_for"] == "linear.1"
    with pytest.raises(planproof.CommandError, match="no tensor of the plan is called"):
        planproof.verify(plan, assume=[{"tensor": "q", "reason": "?"}])


def test_positions_in_the_file_are_lines_of_the_program(model, build):
    x = model.tensor("x")
    model.add(x, "t", out="wrong")  # the extents do not fit
    report = planproof.verify(build())
    assert report.verdict is Verdict.MALFORMED
    line = line_of("# the extents do not fit")
    assert f"{HERE}:{line}: model.add(x, \"t\", out=\"wrong\")" in report.headline
    assert "operator add: operand y" in report.headline
    assert report.violations[0].cause in report.headline
    assert "plan.json" not in report.text


def test_derived_operators_point_at_the_gradients(model, build):
    y = model.op("linear", "x", "w", out="y2")
    loss = model.sum(model.mul(y, y), out="loss2")
    model.gradients(loss, ["x"])  # nobody claims them
    model.output("grad.x", {})
    assert HERE in planproof.verify(build()).headline


def test_the_innermost_part_around_a_pointer_is_named():
    sources = {(): Source("a.py", 1, "plan"), ("plan", "operators", 0): Source("a.py", 7, "p.f()")}
    operators = [{"op": "f", "in": "x" * 100}]
    layout = Layout({"plan": {"mesh": {"long": 1, "a": 2}, "operators": operators}})
    sources[("plan", "mesh")] = Source("a.py", 1, "plan")
    positions = Positions("/tmp/x/plan.json", layout, sources, "a.py")
    translate = positions.translate
    assert translate("/tmp/x/plan.json:3: /plan/operators/0/in: wrong") == \
        "a.py:7: p.f(): wrong"
    assert translate("MALFORMED: /tmp/x/plan.json:3: /plan/mesh: b") == "MALFORMED: a.py:1: plan: b"
    assert translate(f"at /tmp/x/plan.json:{len(layout.lines)}") == "at a.py:7: p.f()"
    assert translate("/tmp/x/plan.json declares operators") == "a.py declares operators"


def test_a_line_is_that_of_the_innermost_frame_of_the_program():
    model = planproof.Specification()

    def helper():
        return model.inputs(x=[2])  # within the helper

    x, = helper()
    y = -x  # an operator of Python
    entry = model.content()["operators"][0]
    assert y.name == "neg.1"
    assert entry["source"].endswith(
        f"{HERE}:{line_of('# an operator of Python')}: y = -x  # an operator of Python")
    assert model._sources[("inputs", "x")].line == line_of("# within the helper")


def test_dictionaries_and_paths(build, tmp_path):
    path = tmp_path / "plan.json"
    build().save(path)
    assert planproof.verify(path).proved and planproof.verify([str(path)]).proved
    content = build().content()
    assert planproof.verify(content).proved
    content["plan"]["programs"][0]["operators"][0]["op"] = "linaer"
    report = planproof.verify(content)
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline.startswith("UNKNOWN: plan: /plan/programs/0/operators/0: operator")


def test_options_are_those_of_the_command(build):
    report = planproof.verify(build(), engine="audit", jobs=1, stage_timeout=30, fold=False,
                              cache=False)
    assert report.engine == "audit"
    refuted = build(lambda p, part: p.identity(part))
    assert planproof.verify(refuted, explain=False).verdict is Verdict.UNKNOWN
    with pytest.raises(planproof.CommandError, match="no-such-option") as raised:
        planproof.verify(build(), no_such_option=1)
    assert raised.value.exit_code == 64
    with pytest.raises(planproof.CommandError, match="No such file"):
        planproof.verify("no_such_plan.json")


def test_the_timeout_ends_the_run(build):
    with pytest.raises(planproof.VerificationTimeout, match="no verdict within"):
        planproof.verify(build(), timeout=0.0001)


def test_assert_verified_raises_with_the_first_finding(build):
    assert planproof.assert_verified(build()).proved
    wrong = build(lambda p, part: p.identity(part))
    with pytest.raises(AssertionError) as raised:
        planproof.assert_verified(wrong)
    text = str(raised.value)
    assert text.startswith("REFUTED: stage loss: sum over tp missing") and "witness" in text
    assert "required" not in text
    assert planproof.assert_verified(wrong, verdict="REFUTED").verdict is Verdict.REFUTED
    with pytest.raises(AssertionError, match="REFUTED is expected, but it is\nPROVED"):
        planproof.assert_verified(build(), verdict=Verdict.REFUTED)


def test_notebooks_get_escaped_text(build):
    page = planproof.verify(build(lambda p, part: p.identity(part)))._repr_html_()
    assert page.startswith("<pre><span style=") and "part: p.identity" in page
    assert "<lambda>" not in page and "</span>\n  logical" in page


def test_reports_may_have_further_keys():
    report = planproof.Report.parse(
        {"verdict": "REFUTED", "exit_code": 1, "novel": 1, "stages": {"total": 3, "novel": 2},
         "violations": [{"verdict": "REFUTED", "novel": [], "devices": [1, 2]}]},
        "REFUTED: x\n  logical a\n\n  required\n")
    assert report.stages.total == 3 and report.violations[0].devices == (1, 2)
    assert report.explanation == "REFUTED: x\n  logical a" and report.headline == "REFUTED: x"


def test_the_binary_is_looked_for(monkeypatch, tmp_path):
    assert subprocess.run([planproof.find_binary(), "--version"], check=True).returncode == 0
    monkeypatch.setattr("planproof.binary._WITHIN", str(tmp_path / "none"))
    monkeypatch.setenv("PLANPROOF_BINARY", str(tmp_path / "none"))
    with pytest.raises(planproof.BinaryNotFound, match="which is no program"):
        planproof.find_binary()
    monkeypatch.delenv("PLANPROOF_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(planproof.BinaryNotFound, match="set PLANPROOF_BINARY"):
        planproof.find_binary()
    program = tmp_path / "planproof"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert planproof.find_binary() == str(program)
    monkeypatch.setattr("sys.argv", [str(program)])
    with pytest.raises(planproof.BinaryNotFound):  # the script of the package itself
        planproof.find_binary()
