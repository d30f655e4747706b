"""TrainCheck's published traces: healthy runs have no alarm, faulty ones have the fault's subject in the first."""
import json
import os
import pathlib
import subprocess
import tarfile

import pytest

SHARED = pathlib.Path(os.environ.get("PLANPROOF_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))
TRACES = SHARED / "data/monitor/traincheck"
BINARY = os.environ.get("PLANPROOF_BINARY", "planproof")

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason=f"{TRACES} is not there (set PLANPROOF_SHARED)")

PROGRAMS = ("cnn_sgd", "gpt_adamw", "ddp_mlp.sampler")
FAULTS = {
    "cnn_sgd.no_zero_grad": "zero_grad",
    "cnn_sgd.opt_before_replace": "model.fc2",
    "cnn_sgd.no_eval": "eval",
    "gpt_adamw.untied": "model.head.weight",
    "gpt_adamw.no_sched": "LRScheduler.step",
    "ddp_mlp.sampler.clip_rank0": "clip_grad_norm_",
    "ddp_mlp.sampler.ddp_no_sync": "require_backward_grad_sync"}
HEALTHY = (*(f"{program}.{run}" for program in PROGRAMS for run in ("ref0", "ref1")), "cnn_sgd.healthy3")


def planproof(*arguments):
    return subprocess.run((BINARY, "monitor", *map(str, arguments)), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Unpacked traces, and facts of each program by its name."""
    directory = tmp_path_factory.mktemp("traincheck")
    for archive in TRACES.glob("*.tar.xz"):
        with tarfile.open(archive) as packed:
            packed.extractall(directory, filter="data")
    facts = {}
    for program in PROGRAMS:
        facts[program] = directory / f"{program}.json"
        learned = planproof("learn", directory / f"{program}.ref0", directory / f"{program}.ref1", "-o", facts[program])
        assert learned.returncode == 0, learned.stderr
    return directory, facts


def program_of(run):
    return next(program for program in PROGRAMS if run.startswith(program))


@pytest.mark.parametrize("run", HEALTHY)
def test_a_healthy_run_has_no_alarm(material, run):
    directory, facts = material
    checked = planproof("check", directory / run, "--invariants", facts[program_of(run)])
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("run", FAULTS)
def test_the_first_alarm_names_the_fault(material, run, tmp_path):
    directory, facts = material
    report = tmp_path / "report.json"
    checked = planproof("check", directory / run, "--invariants", facts[program_of(run)], "--json", report)
    assert checked.returncode == 1, checked.stdout
    first = json.loads(report.read_text())["alarms"][0]
    assert FAULTS[run] in first["subject"] + first["statement"]


def test_facts_of_another_program_say_nothing(material):
    directory, facts = material
    assert planproof("check", directory / "gpt_adamw.ref0", "--invariants", facts["cnn_sgd"]).returncode == 3
