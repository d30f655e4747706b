"""Some of the hundred everyday programs: names and references of frameworks, and random numbers."""
import argparse
import importlib.util
import os

import pytest

pytest.importorskip("torch")
import judge_everyday  # noqa: E402

NEEDED = {"deepspeed": "deepspeed", "megatron": "megatron", "hf": "transformers", "accelerate": "accelerate"}


def judged(name, tmp_path):
    needed = NEEDED.get(name.split("_")[0])
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"no {needed}")
    options = argparse.Namespace(numbers=False, record_limit=180, limit=60, binary=os.environ["PLANPROOF_BINARY"])
    return judge_everyday.judged(name, judge_everyday.programs()[name], options, str(tmp_path / name))


@pytest.mark.parametrize("name", [
    "fsdp1", "checkpoint_wrapper_fsdp2", "compiled_optimizer_fsdp2", "accelerate_prepared_ddp", "zero_redundancy_optimizer",
    "one_cycle_schedule_fsdp", "sgd_nesterov_fsdp4", "megatron_distributed_optimizer_alone", "deepspeed_zero1_alone",
    "deepspeed_zero2_bfloat16_alone", "deepspeed_zero2_scaled_twice_fault", "dropout_apart_over_dp", "dropout_same_over_dp_fault",
    "batch_variance_penalty_of_all_ranks", "megatron_interleaved_pipeline",
    "megatron_interleaved_pipeline_labels_exchanged_fault", "ring_sigmoid_wide_cp2", "ring_running_maximum_cp2"])
def test_verdict_and_numbers_agree(name, tmp_path):
    row = judged(name, tmp_path)
    assert row["class"] == "judged" and row["verdict"] == row["expected"], row


def test_there_are_a_hundred_programs():
    from everyday.hundred import HUNDRED
    assert len(set(HUNDRED)) == 100 and set(HUNDRED) <= set(judge_everyday.programs())
