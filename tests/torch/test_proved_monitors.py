"""What a proof of recorded programs says of the tensors that ranks hold (docs/monitor-format.md)."""
import glob
import json
import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.environ.get("PLANPROOF_BINARY", "planproof")


def verify(folder, file, *options):
    traces = [os.path.join(folder, "reference.trace")] + sorted(glob.glob(os.path.join(folder, "rank*.trace")))
    return subprocess.run([BINARY, "verify", "-q", "--no-cache", *traces, "--monitors-out", str(file), *options],
                          capture_output=True, text=True, check=False)


def monitors_of(program, tmp_path):
    file = tmp_path / "monitors.json"
    done = verify(os.path.join(HERE, "traces", program), file, "--force")
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text())


def cut_of(tensor):
    return {axis for dim in tensor["cut"] for axis in dim}


def test_fsdp2_over_tensor_parallelism(tmp_path):
    monitors = monitors_of("fsdp2_tp_clip", tmp_path)
    assert monitors["axes"] == [["dp", 2], ["tp", 2]]
    sets = [(tensor, each) for tensor in monitors["tensors"] for each in tensor["sets"]]
    assert len(sets) == 105
    replicated = [each for tensor, each in sets if each["kind"] == "number" or len(cut_of(tensor)) < 2]
    assert len(replicated) == 41
    assert {each["same"] for each in replicated} == {"bits", "alike"}
    assert monitors["clip"]["bound"] == 0.5
    assert abs(monitors["clip"]["epsilon"] - 1e-6) < 1e-12
    assert monitors["clip"]["place"].endswith("transformer.py:70")
    assert all(tensor["clipped"] for tensor in monitors["tensors"])


def test_moments_are_linear(tmp_path):
    for tensor in monitors_of("ddp", tmp_path)["tensors"]:
        moment = next(each for each in tensor["sets"] if each["set"] == "exp_avg")
        factors = {term["set"]: term["factor"] for term in moment["terms"]}
        assert factors == pytest.approx({"exp_avg": 0.9, "gradient": 0.1})
        assert "terms" not in next(each for each in tensor["sets"] if each["set"] == "exp_avg_sq")


def test_stages_of_a_pipeline_are_groups(tmp_path):
    monitors = monitors_of("pipeline_by_hand", tmp_path)
    assert all(tensor["groups"] in ([[0]], [[1]]) for tensor in monitors["tensors"])


def test_flat_parts(tmp_path):
    monitors = monitors_of("deepspeed_zero3", tmp_path)
    assert any(tensor.get("flat") == [0] for tensor in monitors["tensors"])


def collectives_of(monitors):
    return {(each["kind"], monitors["axes"][axis][0]) for each in monitors["collectives"] for axis in each["axes"]}


def test_collectives_of_the_iteration_are_written(tmp_path):
    monitors = monitors_of("fsdp2_tp_clip", tmp_path)
    assert collectives_of(monitors) == {("all_gather", "dp"), ("reduce_scatter", "dp"), ("all_reduce", "dp"),
                                        ("all_gather", "tp"), ("reduce_scatter", "tp"), ("all_reduce", "tp")}
    assert {each["dtype"] for each in monitors["collectives"]} == {"float32"}
    assert all(":" in each["place"] and "ranks" not in each for each in monitors["collectives"])


@pytest.mark.parametrize("program", ["ddp", "grad_accumulation"])
def test_gradients_are_means_of_what_ranks_contribute(program, tmp_path):
    for tensor in monitors_of(program, tmp_path)["tensors"]:
        assert tensor["contributions"] == {"factor": 0.5, "axes": [0]}
        assert tensor["dtype"] == "float32"


def test_gradients_that_no_rank_has_as_a_whole_are_no_combination(tmp_path):
    assert all("contributions" not in tensor for tensor in monitors_of("fsdp2", tmp_path)["tensors"])


def test_a_plan_names_its_tensors(tmp_path):
    file = tmp_path / "monitors.json"
    plan = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "daily", "fsdp.json")
    done = subprocess.run([BINARY, "verify", "-q", "--no-cache", plan, "--monitors-out", str(file)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    monitors = json.loads(file.read_text())
    assert monitors["axes"] == [["dp", 4]]
    assert [tensor["name"] for tensor in monitors["tensors"]] == ["scale", "w1", "w2"]
    for tensor in monitors["tensors"]:
        assert tensor["cut"][0] == [0] and "parameter" in {each["set"] for each in tensor["sets"]}


def extended(file, *options):
    folder = os.path.join(HERE, "traces", "fsdp2_dp64")
    return verify(folder, file, "--extend", "dp=64", *options)


def test_ranks_that_were_not_recorded_have_monitors(tmp_path):
    file = tmp_path / "monitors.json"
    done = extended(file, "--force")
    assert done.returncode == 0, done.stderr
    monitors = json.loads(file.read_text())
    assert monitors["axes"] == [["dp", 64]]
    assert monitors["tensors"] and all(cut_of(tensor) == {0} for tensor in monitors["tensors"])


def test_extended_verdicts_are_to_be_anchored_too(tmp_path):
    file = tmp_path / "monitors.json"
    done = extended(file)
    assert done.returncode == 64 and "not anchored" in done.stderr
    assert not file.exists()


def test_nothing_is_written_of_a_verdict_that_is_not_anchored(tmp_path):
    file = tmp_path / "monitors.json"
    done = verify(os.path.join(HERE, "traces", "ddp"), file)
    assert done.returncode == 64
    assert "not anchored" in done.stderr and "--force" in done.stderr
    assert not file.exists()


def faults():
    folders = sorted(glob.glob(os.path.join(HERE, "fault_traces", "*", "")))
    assert folders
    names = [os.path.basename(os.path.dirname(folder)) for folder in folders]
    return [name for name in names if not name.endswith(".right")]


@pytest.mark.parametrize("fault", faults())
def test_nothing_is_written_of_what_is_not_proved(fault, tmp_path):
    file = tmp_path / "monitors.json"
    done = verify(os.path.join(HERE, "fault_traces", fault), file, "--force")
    assert done.returncode != 0
    assert not file.exists()


def test_a_file_that_is_no_file_of_monitors_is_bad_input(tmp_path):
    file = tmp_path / "monitors.json"
    file.write_text('{"planproof_monitors": 7}')
    run = tmp_path / "run"
    run.mkdir()
    done = subprocess.run([BINARY, "monitor", "check", str(run), "--monitors", str(file)], capture_output=True, text=True,
                          check=False)
    assert done.returncode in (2, 64) and "monitors.json" in done.stderr
