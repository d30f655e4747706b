"""Audited steps of monitored runs: what they record, that they change nothing, and what the check says of them (docs/monitor.md)."""
import glob
import gzip
import json
import os
import subprocess

import pytest
import torch
import torch.nn.functional as F
from planproof import RecordingError
from planproof.torch import monitor, record
from torch import nn

BINARY = os.environ.get("PLANPROOF_BINARY", "planproof")


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.up, self.drop, self.norm, self.down = nn.Linear(4, width), nn.Dropout(0.2), nn.LayerNorm(width), nn.Linear(width, 3)

    def forward(self, x):
        return self.down(self.norm(F.gelu(self.drop(self.up(x)))))


def run(directory, audit=None, monitored=True, steps=6, width=8, scale=1.0):
    """Losses and parameters of a run."""
    torch.manual_seed(0)
    model = Net(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    watching = monitor(model, optimizer, directory, every=2, on_alarm=None, audit=audit) if monitored else None
    losses = []
    for _ in range(steps):
        x, y = torch.randn(5, 4), torch.randn(5, 3)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y) * scale
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    if watching is not None:
        watching.close()
    return losses, [each.detach().clone() for each in model.parameters()]


def audited(directory):
    """Steps with a file."""
    return sorted(int(path.split(".step")[1][:12]) for path in glob.glob(os.path.join(str(directory), "rank*.trace")))


def test_no_number_changes(tmp_path):
    plain, watched = run(tmp_path, monitored=False), run(tmp_path / "run", audit=[1, 2, 5])
    assert plain[0] == watched[0]
    assert all(torch.equal(a, b) for a, b in zip(plain[1], watched[1]))
    assert audited(tmp_path / "run") == [1, 2, 5]


@pytest.mark.parametrize("audit, steps", [(None, []), (2, [2, 4]), ([3], [3]), ([99], [])])
def test_steps_that_are_audited(tmp_path, audit, steps):
    run(tmp_path / "run", audit=audit)
    assert audited(tmp_path / "run") == steps


@pytest.mark.parametrize("audit", [0, -1, [0], [1.5]])
def test_steps_that_cannot_be(tmp_path, audit):
    with pytest.raises(RecordingError):
        run(tmp_path / "run", audit=audit)


def test_the_file_has_the_operators_of_the_program(tmp_path):
    run(tmp_path / "run", audit=[2])
    with gzip.open(next(iter(glob.glob(str(tmp_path / "run" / "rank*.trace"))))) as file:
        trace = json.load(file)
    names = [each["op"] for each in trace["operators"]]
    assert names.count("aten.addmm.default") == 2
    assert not any(each.get("phase") == "monitor" for each in trace["operators"])
    assert {each["name"] for each in trace["inputs"]} >= {"up.weight", "up.weight.exp_avg"}
    assert any("test_monitor_audit.py" in text for text in trace["strings"])


def trace_of_step(path, width=8, scale=1.0):
    """What `record` writes of the same step, as a proof has it."""
    torch.manual_seed(0)
    model = Net(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = torch.randn(5, 4), torch.randn(5, 3)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y) * scale
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()

    step()
    record(step, path, model=model, optimizer=optimizer, inputs={"x": x, "y": y})


def check(tmp_path, **options):
    """Exit code and alarms of an audited run, by monitors of the program as it is."""
    reference, rank = tmp_path / "reference.trace", tmp_path / "rank0.trace"
    trace_of_step(reference)
    trace_of_step(rank)
    file, report = tmp_path / "monitors", tmp_path / "report.json"
    done = subprocess.run([BINARY, "verify", "-q", "--no-cache", reference, rank, "--monitors-out", file, "--force"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    run(tmp_path / "run", audit=[3], **options)
    done = subprocess.run([BINARY, "monitor", "check", tmp_path / "run", "--monitors", file, "--json", report, "-q"], capture_output=True,
                          text=True, check=False)
    content = json.loads(report.read_text())
    return done.returncode, [each for each in content["alarms"] if each["rule"] == "audited_step"]


@pytest.mark.parametrize("width", [8, 24])
def test_the_same_program_has_no_alarm(tmp_path, width):
    assert check(tmp_path, width=width) == (0, [])


def test_another_operator_alarms_at_its_line(tmp_path):
    code, alarms = check(tmp_path, scale=0.5)
    assert code == 1 and len(alarms) == 1
    assert alarms[0]["step"] == 3 and "test_monitor_audit.py" in alarms[0]["place"]
