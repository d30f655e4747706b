"""Runs of the monitored programs, checked with monitors of their proofs (tests/torch/monitor/proved_programs.py)."""
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

from monitored_run import Settings, execute  # noqa: E402
from proved_programs import PROVED, monitors_of, runs_what_is_proved  # noqa: E402

BINARY = os.environ.get("PLANPROOF_BINARY", "planproof")
PROOF = ("proved", "derived")


@pytest.fixture(scope="module")
def monitors(tmp_path_factory):
    """Files of monitors by program, each exported once."""
    directory = str(tmp_path_factory.mktemp("monitors"))
    return lambda program: monitors_of(program, directory, BINARY)


def report(settings, tmp_path, monitors, *options):
    outcome = execute(settings, str(tmp_path / "run"))
    assert not outcome.error, outcome.error
    done = subprocess.run([BINARY, "monitor", "check", outcome.directory, "--monitors", monitors(settings.program), "--json", "-",
                           *options], capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1])["report"]


def of_proof(found):
    return [(alarm["rule"], alarm["step"]) for alarm in found["alarms"] if alarm["tier"] in PROOF]


def test_verdicts_of_all_programs_are_anchored(monitors):
    for program in PROVED:
        with open(monitors(program)) as file:
            assert json.load(file)["anchored"]


def test_contributions_and_collectives_are_exported(monitors):
    with open(monitors("replicated")) as file:
        found = json.load(file)
    assert all(tensor["contributions"] == {"factor": 0.5, "axes": [0]} for tensor in found["tensors"])
    assert [(each["kind"], each["axes"], each["dtype"]) for each in found["collectives"]] == [("all_reduce", [0], "float32")]


def test_a_sum_instead_of_the_mean_is_found_by_the_proof(monitors, tmp_path):
    found = report(Settings("replicated", "hook", "sum_for_average", seed=5, steps=9), tmp_path, monitors)
    assert of_proof(found) == [("contributions", Settings.fault_step)]


def test_clipping_that_is_left_out_in_one_process_is_found_by_the_proof(monitors, tmp_path):
    found = report(Settings("language_model", fault="no_clip", seed=5, steps=8), tmp_path, monitors)
    assert of_proof(found)[0] == ("no_clip", Settings.fault_step)


def test_a_norm_of_the_rank_alone_lacks_a_collective(monitors, tmp_path):
    found = report(Settings("sharded", fault="own_norm", seed=5, steps=8), tmp_path, monitors)
    assert of_proof(found) == [("clip_norm", Settings.fault_step)]
    (alarm,) = [alarm for alarm in found["alarms"] if alarm["tier"] in PROOF]
    assert "each step has an all_reduce over dp" in alarm["statement"]


@pytest.mark.parametrize("program, variant", [("replicated", ""), ("replicated", "accumulation"), ("sharded", "")])
def test_healthy_runs_have_no_alarm(program, variant, monitors, tmp_path):
    settings = Settings(program, variant, seed=6, steps=7)
    assert runs_what_is_proved(settings)
    found = report(settings, tmp_path, monitors)
    assert not found["alarms"]
