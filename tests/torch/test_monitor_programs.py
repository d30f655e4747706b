"""The programs that the monitor is judged on: watched they compute the same, healthy ones do not alarm, faults do."""
import os
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "monitor")]
from judging import NO_ALARM, Runner, in_time, names_subject  # noqa: E402
from monitor_faults import FAULTS  # noqa: E402
from monitor_scripts import HEALTHY, UNUSUAL, Script  # noqa: E402
from monitored_run import Settings, execute  # noqa: E402

BINARY = os.environ.get("PLANPROOF_BINARY", "")
needs_binary = pytest.mark.skipif(not os.path.exists(BINARY), reason="PLANPROOF_BINARY names no planproof")
FAULT = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """Runs of all tests of this file: each is made once."""
    made = Runner(BINARY, str(tmp_path_factory.mktemp("runs")), jobs=2)
    yield made
    made.pool.shutdown()


def test_the_faults_are_those_of_the_list():
    with open(os.path.join(HERE, "monitor", "FAULTS.md")) as file:
        listed = re.findall(r"^\| \d+ \| (\w+) \|.*\| (\d) \| (yes|no)", file.read(), re.MULTILINE)
    assert [name for name, _, _ in listed] == [fault.name for fault in FAULTS]
    assert [answer == "yes" for _, _, answer in listed] == [fault.reference for fault in FAULTS]


@pytest.mark.parametrize("name, switch", [("loss_scale", True), ("drift", True), ("drift", False)])
def test_a_fault_changes_the_run_from_its_step_on(name, switch, tmp_path):
    fault = FAULT[name]
    healthy, other = (execute(fault.settings(5, on), str(tmp_path / str(number)), monitored=False)
                      for number, on in enumerate((False, switch)))
    assert not healthy.error and not other.error
    assert (healthy.digests == other.digests) == (not switch)
    # Losses of evaluations come after those of their step.
    assert healthy.losses[-1][:fault.step] == other.losses[-1][:fault.step]


@pytest.mark.parametrize("script", [
    Script("language_model"), Script("language_model", "average_for_evaluation"), Script("convolutional"), Script("mixture"),
    Script("mixed_precision"), Script("mixed_precision", "scaler_skips"), Script("adversarial"), Script("closure", "lbfgs"),
    Script("replicated"), Script("staged")], ids=lambda script: script.name)
def test_a_monitored_run_computes_the_same(script, tmp_path):
    settings = script.settings(23, steps=7)
    alone, monitored = (execute(settings, str(tmp_path / str(on)), monitored=on) for on in (False, True))
    assert not alone.error and not monitored.error, alone.error or monitored.error
    assert alone.losses == monitored.losses and alone.digests == monitored.digests


@needs_binary
@pytest.mark.parametrize("script", [
    Script("language_model"), Script("convolutional"), Script("mixture"), Script("mixed_precision"), Script("replicated"),
    Script("staged"), Script("language_model", "average_for_evaluation"), Script("language_model", "accumulation"),
    Script("language_model", "lookahead"), Script("language_model", "bfloat16"), Script("mixed_precision", "scaler_skips"),
    Script("adversarial"), Script("closure", "lbfgs")], ids=lambda script: script.name)
def test_laws_are_silent_on_a_healthy_run(script, runner):
    assert script in HEALTHY + UNUSUAL or script.plain in HEALTHY + UNUSUAL or not script.variant
    verdict = runner.check(script.settings(31, steps=9))
    assert verdict.code == NO_ALARM, verdict.line()


@needs_binary
@pytest.mark.parametrize("name", ["loss_scale", "momentum_lost", "no_zero_grad", "clip_one_rank", "flipped_bit"])
def test_a_fault_is_found_without_references(name, runner):
    fault = FAULT[name]
    verdict = runner.check(fault.settings(31))
    assert verdict.alarms, verdict.line()
    assert in_time(verdict.first, fault) and names_subject(verdict.first, fault), verdict.line()


@needs_binary
def test_the_worked_example_is_what_the_commands_print(tmp_path):
    root = os.path.dirname(os.path.dirname(HERE))
    with open(os.path.join(root, "docs", "monitor.md")) as file:
        document = file.read()
    for name, options in (("a", []), ("head", ["--bug", "head"])):
        subprocess.run([sys.executable, os.path.join(root, "examples", "monitor", "train.py"), "--out", f"runs/{name}", *options],
                       cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
        said = subprocess.run([BINARY, "monitor", "check", f"runs/{name}"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert said.returncode == (name == "head")
        assert "".join(f"    {line}\n" if line else "\n" for line in said.stdout.splitlines()) in document


def test_settings_name_scripts():
    assert Settings("closure", "lbfgs", optimizer="sgd").script == "closure/lbfgs/sgd"
