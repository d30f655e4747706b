"""Whole iterations of distributed programs: replays are exact, and results are the reference's."""
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


def test_a_wrong_program_disagrees(tmp_path):
    launch(partial(build_without_average, "ddp"), mesh_of("ddp"), tmp_path, start_method="fork")
    worst, _ = differences(tmp_path)
    assert worst[("gradient", "up.weight")] > 0.1


def build_without_average(name, mesh):
    training = build(name, mesh)
    if mesh is not None:
        training.model.require_backward_grad_sync = False
    return training
