"""Ranks that are recorded without the others run what they run in the job, and the others follow from them."""
import importlib.util

import pytest

pytest.importorskip("torch")
from functools import partial  # noqa: E402

from planproof.errors import RecordingError  # noqa: E402
from planproof.report import Verdict  # noqa: E402
from planproof.torch import check, launch  # noqa: E402
from planproof.torch.launch import main  # noqa: E402
from planproof.torch.some_ranks import NOTE, axes_to_extend, checked  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402

from record_all import build, mesh_of, ranks_of  # noqa: E402


@pytest.mark.parametrize("name", ["ddp", "fsdp2_clip", "hsdp", "tp_sp", "megatron_dp_tp"])
def test_a_rank_alone_runs_what_it_runs_in_the_job(name, tmp_path):
    if name.startswith("megatron") and importlib.util.find_spec("megatron") is None:
        pytest.skip("no megatron")
    mesh = mesh_of(name)
    together = launch(partial(build, name), mesh, tmp_path / "together", start_method="fork")
    alone = launch(partial(build, name), mesh, tmp_path / "alone", start_method="fork", ranks=[0, 1])
    assert len(alone) == 3
    for in_job, path in zip(together[1:], alone[1:]):
        expected, found = load(in_job), load(path)
        found["notes"].remove(NOTE)
        forget_values(expected)
        forget_values(found)
        assert found == expected


def forget_values(trace):
    """Numbers that were read from tensors are made up."""
    def within(value):
        if isinstance(value, list):
            return [within(each) for each in value]
        if isinstance(value, dict):
            return {key: within(each) for key, each in value.items()
                    if not (key == "value" and ("item" in value or "computed" in value))}
        return value
    trace.pop("values", None)  # the digest of what is left out
    for entry in trace.get("numbers", ()):
        entry.pop("value")
    for entry in trace["operators"]:
        entry.pop("values", None)
        if "item" in entry:
            entry["out"] = None
        for key in ("args", "kwargs"):
            if key in entry:
                entry[key] = within(entry[key])


def test_the_others_follow_and_are_assumed(tmp_path):
    report = check(partial(build, "fsdp2_dp64"), mesh_of("fsdp2_dp64"), directory=tmp_path, start_method="fork",
                   ranks=ranks_of("fsdp2_dp64"), cache=False)
    assert report.verdict is Verdict.PROVED
    assert report.assumptions[0] == ("ranks 2 to 62 run the program of ranks 0, 1 and 63 with their own coordinates "
                                     "along dp (--extend dp=64)")
    assert NOTE in report.assumptions


def test_axes_along_which_ranks_are_missing_are_extended():
    assert axes_to_extend({"dp": 64, "tp": 2}, [0, 1, 2, 3]) == ["dp=64"]
    assert axes_to_extend({"dp": 4, "tp": 4}, [0, 1, 4, 5]) == ["dp=4", "tp=4"]
    assert axes_to_extend({"dp": 2}, [0, 1]) == []


@pytest.mark.parametrize("ranks", [[], [0, 0], [-1], [0, 64]])
def test_ranks_that_are_none_of_the_job_are_an_error(ranks):
    with pytest.raises(RecordingError, match="different ranks of a job of 64 are expected"):
        checked(ranks, 64)


def test_a_mesh_that_is_not_in_the_order_of_ranks_names_no_axes():
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from planproof.torch.recording import _axes
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        assert _axes(DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))) == [["dp", 2], ["tp", 2]]
        assert _axes(DeviceMesh("cpu", [[0, 2], [1, 3]], mesh_dim_names=("dp", "tp"))) == []
    finally:
        dist.destroy_process_group()


def test_relations_are_said_where_all_ranks_run(tmp_path):
    with pytest.raises(RecordingError, match="say them in the program"):
        launch(partial(build, "ddp"), {"dp": 64}, tmp_path, ranks=[0, 1],
               overrides={"x": {"dim": 0, "axis": "dp"}})


def test_ranks_that_are_no_numbers_are_a_wrong_usage(capsys):
    with pytest.raises(SystemExit):
        main(["program.py", "--mesh", "dp=64", "--ranks", "0,one"])
    assert "ranks are expected, such as 0,1, not 0,one" in capsys.readouterr().err
