"""Whole iterations of distributed programs: replays are exact, and results are the reference's."""
import importlib.util

import pytest

torch = pytest.importorskip("torch")
from functools import partial  # noqa: E402

from planproof.torch import launch  # noqa: E402
from planproof.torch.replay import replay  # noqa: E402

from agreement import differences  # noqa: E402
from record_all import build, mesh_of  # noqa: E402


@pytest.mark.parametrize("name", ["ddp", "tp_sp", "fsdp2", "loss_parallel", "pipeline_by_hand"])
def test_a_program_is_replayed_exactly_and_agrees_with_its_reference(name, tmp_path):
    launch(partial(build, name), mesh_of(name), tmp_path, start_method="fork")
    assert replay(tmp_path).exact
    worst, missing = differences(tmp_path)
    assert not missing and max(worst.values()) < 1e-3


@pytest.mark.parametrize("name", ["megatron_pp", "megatron_moe_tp", "hf_llama_fsdp2", "deepspeed_zero2_clip",
                                  "deepspeed_zero3", "titan_llama_fsdp2"])
def test_a_framework_s_program_is_replayed_exactly_and_agrees_with_its_reference(name, tmp_path):
    package = {"hf": "transformers", "titan": "torchtitan"}.get(name.split("_")[0], name.split("_")[0])
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"no {package}")
    test_a_program_is_replayed_exactly_and_agrees_with_its_reference(name, tmp_path)


def test_a_wrong_program_disagrees(tmp_path):
    launch(partial(build_without_average, "ddp"), mesh_of("ddp"), tmp_path, start_method="fork")
    worst, _ = differences(tmp_path)
    assert worst[("gradient", "up.weight")] > 0.1


def build_without_average(name, mesh):
    training = build(name, mesh)
    if mesh is not None:
        training.model.require_backward_grad_sync = False
    return training
