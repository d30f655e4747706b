"""The sixteen plans of docs/daily-plans.md, in Python: proved, short, and what their twins in JSON are."""
import ast
import glob
import os
import runpy
import subprocess
import sys
import tokenize

import pytest

import planproof
from conftest import ROOT
from meaning import meaning
from planproof.encoding import loads

sys.path.insert(0, os.path.join(ROOT, "tests", "daily"))
from faults import FAULTS  # noqa: E402

NAMES = sorted(os.path.basename(path)[:-len(".json")]
               for path in glob.glob(os.path.join(ROOT, "examples", "daily", "*.json")))
LONGEST = 44
PAGE = os.path.join(ROOT, "docs", "python.md")


def script(name):
    return os.path.join(ROOT, "examples", "python", f"{name}.py")


def twin(name):
    return os.path.join(ROOT, "examples", "daily", f"{name}.json")


def plan_of(name):
    return runpy.run_path(script(name))["plan"]


def readable(path, scratch):
    subprocess.run([planproof.find_binary(), "convert", "--readable", path, "-o",
                    scratch / "readable.json"], check=True, stdout=subprocess.DEVNULL)
    return loads((scratch / "readable.json").read_text())


def code_lines(name):
    """Lines with code: no comments, no documentation, no declarations of operators."""
    with open(script(name), encoding="utf-8") as file:
        text = file.read()
    nodes = [node for node in ast.walk(ast.parse(text))
             if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    strings = {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)
               if node.end_lineno > node.lineno}
    strings |= {node.lineno for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
              tokenize.ENDMARKER}
    with open(script(name), encoding="utf-8") as file:
        lines = {line for token in tokenize.generate_tokens(file.readline)
                 if token.type not in layout
                 for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - strings)


def lineage_of(plan):
    return [tensor for entry in plan.content()["plan"]["programs"]
            for tensor in entry.get("lineage", {})]


def test_each_plan_has_a_script():
    scripts = glob.glob(os.path.join(ROOT, "examples", "python", "*.py"))
    assert sorted(os.path.basename(path)[:-len(".py")] for path in scripts) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_is_proved_when_it_is_run(name):
    done = subprocess.run([sys.executable, script(name)], capture_output=True, text=True,
                          check=False)
    assert done.stdout.startswith("PROVED: "), done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_it_means_what_its_twin_means(name, tmp_path):
    plan_of(name).save(tmp_path / "plan.json")
    ours, _ = meaning(readable(tmp_path / "plan.json", tmp_path))
    theirs, _ = meaning(readable(twin(name), tmp_path))
    assert ours == theirs


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.key() for fault in FAULTS])
def test_a_plan_with_a_fault_means_something_else(fault):
    with open(twin(fault.plan), encoding="utf-8") as file:
        right = loads(file.read())
    assert meaning(fault.apply(right))[0] != meaning(right)[0]


@pytest.mark.parametrize("name", NAMES)
def test_no_lineage_is_stated(name):
    assert lineage_of(plan_of(name)) == []


def test_the_table_of_the_page_is_current():
    """PLANPROOF_WRITE_DOCS=1 writes it."""
    rows = ["| plan | lines of code |", "| --- | --- |"]
    for name in NAMES:
        rows.append(f"| [{name}](../examples/python/{name}.py) | {code_lines(name)} |")
        assert code_lines(name) <= LONGEST
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, start, rest = page.partition("<!-- examples -->\n")
    _, end, after = rest.partition("<!-- end of examples -->\n")
    current = before + start + "\n".join(rows) + "\n" + end + after
    if os.environ.get("PLANPROOF_WRITE_DOCS"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(current)
    else:
        assert page == current
