"""Training runs that are dumped and compared: examples/compare, on four processes with gloo."""
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import dump, dump_reference  # noqa: E402
from planproof.torch.dump_file import read_tensors, write_rank  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "compare")


def compare(directory, annotations=None, options=()):
    """The exit code and the report."""
    command = [os.environ["PLANPROOF_BINARY"], "compare", "--reference", f"{directory}/reference", "--candidate",
               f"{directory}/candidate", "--json", "-", *options]
    if annotations:
        command += ["--annotations", annotations]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return run.returncode, json.loads(run.stdout)


def train(out, *options):
    subprocess.run([sys.executable, "train.py", "--out", str(out), *options], cwd=EXAMPLE, check=True,
                   stderr=subprocess.DEVNULL)
    return compare(out, os.path.join(EXAMPLE, "annotations.yaml"))


def first_of(report):
    return report["tensors"][report["first"]]["tensor"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [["--seed", "11"], ["--seed", "12", "--optimizer", "adam", "--zero"]])
def test_a_right_run_is_no_alarm(dtype, options, tmp_path):
    code, report = train(tmp_path, "--dtype", dtype, *options)
    assert code == 0 and report["compared"] > 100, report["tensors"][report["first"] or 0]


FIRST = {"TT1": "forward/embedding", "TT4": "backward/output", "TT6": "gradient/layers.1.router.weight",
         "TT7": "forward/layers.0.attention.projection", "TT9": "update/", "TT12": "gradient/norm.bias"}


@pytest.mark.parametrize("bug, dtype", [*((bug, "float32") for bug in FIRST),
                                        *((bug, "bfloat16") for bug in ("TT1", "TT6", "TT9", "TT12"))])
def test_a_bug_is_found_where_it_is(bug, dtype, tmp_path):
    first = FIRST[bug]
    zero = ["--optimizer", "adam", "--zero"] if bug == "TT9" else []
    code, report = train(tmp_path, "--bug", bug, "--dtype", dtype, "--seed", "13", *zero)
    assert code == 1 and first_of(report).startswith(first)


# All that follows a wrong module is wrong; with the reference's inputs only the module is.
def test_stage_inputs_leave_the_wrong_modules(tmp_path):
    train(tmp_path, "--bug", "TT7", "--inputs")
    annotations = os.path.join(EXAMPLE, "annotations.yaml")
    inputs = tmp_path / "inputs"
    _, before = compare(tmp_path, annotations, ["--stage-inputs", str(inputs)])
    _, after = train(tmp_path, "--bug", "TT7", "--inputs", "--stage-inputs", str(inputs))

    def forward(report):
        return {tensor["tensor"] for tensor in report["tensors"]
                if tensor["finding"] == "differs" and tensor["tensor"].startswith("forward/")}

    # The attention's last module, and what contains or adds to it.
    assert forward(after) == {f"forward/layers.{n}{rest}" for n in (0, 1)
                              for rest in ("", ".attention", ".attention.projection")}
    assert forward(before) > forward(after)
    code, right = train(tmp_path, "--inputs", "--stage-inputs", str(inputs))
    assert code == 0, first_of(right)


def small_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def step_of(model, optimizer):
    def step():
        optimizer.zero_grad()
        model(torch.arange(6.0).reshape(2, 3)).square().sum().backward()
        optimizer.step()
    return step


# One process against itself: two lines, no annotations.
def test_one_process_is_its_own_reference(tmp_path):
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    dump_reference(tmp_path / "reference", step_of(model, optimizer), model, optimizer)
    after = {name: value.clone() for name, value in model.state_dict().items()}
    other = small_model()
    assert all(torch.equal(before[name], value) for name, value in other.state_dict().items())
    optimizer = torch.optim.Adam(other.parameters())
    with dump(tmp_path / "candidate", other, optimizer):
        step_of(other, optimizer)()
    # The reference has made one step, not one for each sample.
    assert all(torch.equal(after[name], value) for name, value in other.state_dict().items())
    code, report = compare(tmp_path)
    assert code == 0 and report["samples"] == 3
    assert all(tensor["error"] == 0 for tensor in report["tensors"])
    names = [tensor["tensor"] for tensor in report["tensors"]]
    assert names.index("initial/0.weight") < names.index("input/<model>") < names.index("forward/0") \
        < names.index("forward/<model>") < names.index("backward/2") < names.index("backward/0") \
        < names.index("gradient/2.bias") < names.index("gradient/0.weight") < names.index("update/0.weight") \
        < names.index("parameter/0.weight")


def test_gradients_are_those_that_the_optimizer_gets(tmp_path):
    model = small_model()

    class Clipping:
        def step(self):
            for parameter in model.parameters():
                parameter.grad = None

    optimizer = Clipping()
    with dump(tmp_path, model, optimizer):
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
    tensors = read_tensors(str(tmp_path / "rank0.safetensors"))
    assert torch.equal(tensors["gradient/2.bias"], torch.ones(2))
    assert "step" not in vars(optimizer)


def test_later_calls_and_recomputation_have_names(tmp_path):
    from torch.utils.checkpoint import checkpoint
    model = small_model()
    x = torch.ones(1, 3)
    with dump(tmp_path, model):
        (checkpoint(model[0], x, use_reentrant=False).sum() + model[0](2 * x).sum()).backward()
    tensors = read_tensors(str(tmp_path / "rank0.safetensors"))
    forward = {name for name in tensors if name.startswith("forward/")}
    assert forward == {"forward/0", "forward/0#2"}
    assert torch.equal(tensors["forward/0#2"], model[0](2 * x).detach())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.bool])
def test_files_are_read_as_they_were_written(dtype, tmp_path):
    tensor = torch.tensor([[0, 1, 2]]).to(dtype)
    write_rank(str(tmp_path), 0, [], torch.float32, {"a": tensor, "none": torch.empty(0, 2)})
    again = read_tensors(str(tmp_path / "rank0.safetensors"))
    assert torch.equal(again["a"], tensor) and again["none"].shape == (0, 2)


def test_what_cannot_be_is_said(tmp_path):
    model = small_model()
    with pytest.raises(RecordingError, match="the mesh has 2 ranks, 1 are running"):
        with dump(tmp_path, model, mesh={"dp": 2}):
            pass
    with pytest.raises(RecordingError, match="planproof compare --stage-inputs writes it"):
        with dump(tmp_path, model, stage_inputs=tmp_path / "nothing"):
            pass
    with pytest.raises(RecordingError, match="at least one"):
        dump_reference(tmp_path, lambda: None, model, samples=0)
    (tmp_path / "perturbed2").mkdir()
    with pytest.raises(RecordingError, match="is of another reference"):
        dump_reference(tmp_path, lambda: None, model, samples=1)
