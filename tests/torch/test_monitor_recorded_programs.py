"""Healthy runs of recorded programs: monitored they compute the same, nothing alarms, and parameters have a monitor or a reason."""
import importlib.util
import os
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "monitor")]
from judge_programs import Judgement, judge, judged_programs  # noqa: E402
from program_runs import ProgramRun, execute  # noqa: E402

BINARY = os.environ.get("PLANPROOF_BINARY", "")
needs_binary = pytest.mark.skipif(not os.path.exists(BINARY), reason="PLANPROOF_BINARY names no planproof")
PACKAGES = {"hf": "transformers", "titan": "torchtitan", "deepspeed": "deepspeed", "megatron": "megatron"}


def skip_without_package(name):
    package = PACKAGES.get(name.split("_")[0])
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package}")


@needs_binary
@pytest.mark.parametrize("name, compared", [("ddp", True), ("fsdp2_clip", True), ("pipeline_by_hand", True), ("hf_experts_dp", False),
                                            ("deepspeed_zero2_clip", True), ("megatron_distributed_optimizer", True)])
def test_a_healthy_run_is_as_it_was_proved(name, compared, tmp_path):
    skip_without_package(name)
    found = judge(ProgramRun(name, seed=8, steps=4), BINARY, str(tmp_path), again=False)
    assert found.verdict == "PROVED" and found.right, found.row()
    assert not found.bare
    assert (found.monitored == found.parameters) if compared else (len(found.reasons) == found.parameters)


def test_the_programs_are_those_of_few_ranks():
    names = judged_programs()
    assert "single" in names and "fsdp2_tp_clip" in names and "megatron_16_ranks" not in names and "ddp_dp64" not in names


def test_another_seed_gives_other_data_and_other_parameters(tmp_path):
    one, same, other = (execute(ProgramRun("ddp", seed=seed, steps=1), str(tmp_path / str(number)), monitored=False)
                        for number, seed in enumerate((4, 4, 5)))
    assert not one.error and one.losses == same.losses and one.digests == same.digests
    assert one.losses != other.losses


@pytest.mark.parametrize("change, right", [({}, True), ({"same": "losses differ from step 2 on"}, False), ({"alarms": [{}]}, False),
                                           ({"monitored": 8}, False), ({"monitored": 8, "reasons": {"head": "why"}}, True)])
def test_what_is_right(change, right):
    judged = Judgement(ProgramRun("ddp"), parameters=10, monitored=9, same="yes")
    for key, value in change.items():
        setattr(judged, key, value)
    assert judged.right is right
