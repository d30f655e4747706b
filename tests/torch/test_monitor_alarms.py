"""Alarms of `planproof monitor check` reach the program while the run goes on."""
import logging
import os
import stat
import sys
import time

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

from small_runs import Tied, journal, train_step  # noqa: E402

from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Alarm, RunAlarm, monitor  # noqa: E402
from planproof.torch.monitoring import alarms  # noqa: E402
from planproof.torch.monitoring.alarms import decoded  # noqa: E402

LINE = ('{"alarm":{"tier":"law","rule":"update","step":3,"ranks":[0,1],"subject":"layer.weight","statement":"it has not changed",'
        '"expected":1.5,"found":1,"place":"train.py:7"}}')
ALARM = Alarm("law", "update", 3, "layer.weight", "it has not changed", [0, 1], 1.5, 1.0, "train.py:7")


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "run")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A program in place of planproof: it writes its arguments down and runs these lines of shell."""
    def install(lines):
        path = tmp_path / "planproof"
        path.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n{lines}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PLANPROOF_BINARY", str(path))
        return lambda: (tmp_path / "arguments").read_text().split()
    return install


def run(directory, on_alarm, steps=100, patience=20.0, **options):
    """Trains until an alarm has been handed over, or `steps` are done."""
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    end = time.monotonic() + patience
    with monitor(model, optimizer, directory, on_alarm=on_alarm, **options) as running:
        for number in range(steps):
            train_step(model, optimizer, number)
            time.sleep(0.05)
            if isinstance(running.seen, list) and running.seen or time.monotonic() > end:
                return number
    return steps


@pytest.fixture(autouse=True)
def seen(monkeypatch):
    found = []
    monkeypatch.setattr(monitor, "seen", found, raising=False)
    return found


def test_a_callable_gets_alarms(directory, command, seen):
    arguments = command(f"echo '{LINE}'")
    assert run(directory, seen.append, monitors="proved.json") < 100
    assert seen == [ALARM]
    assert arguments() == ["monitor", "check", directory, "--follow", "--json", "-", "--monitors", "proved.json"]


def test_alarms_that_come_at_the_end_are_handed_over(directory, command, seen):
    command(f"while ! tail -c 200 {directory}/rank00000.journal | grep -q closed; do sleep 0.05; done; echo '{LINE}'")
    run(directory, seen.append, steps=2)
    assert seen == [ALARM]


def test_alarms_are_raised(directory, command):
    command(f"echo '{LINE}'")
    with pytest.raises(RunAlarm, match="layer.weight: it has not changed .train.py:7. .law: update."):
        run(directory, "raise")
    found = journal(directory)
    assert found.closing["reason"] == "exception" and found.closing["exception"] == "RunAlarm"
    assert sorted(found.steps) == list(range(found.closing["steps"]))


def test_alarms_are_logged(directory, command, caplog):
    command(f"echo '{LINE}'")
    with caplog.at_level(logging.INFO, "planproof.monitor"):
        run(directory, "log", steps=20)
    assert [record.getMessage() for record in caplog.records] == [
        "step 3 on ranks 0, 1: layer.weight: it has not changed (train.py:7) [law: update]"]


def test_other_lines_are_no_alarms(directory, command, seen):
    command("echo '{}'; echo 'no JSON'; echo '[1]'; echo '{\"alarm\": {\"tier\": \"law\"}}'; printf '\\377'")
    assert run(directory, seen.append, steps=5) == 5
    assert not seen


@pytest.mark.parametrize("line", ["", "null", "7", '{"alarm": null}', '{"alarm": {"tier": "law", "rule": "a", "step": "x"}}',
                                  '{"alarm": {"tier": "law", "rule": "a", "step": 1, "expected": "much"}}'])
def test_what_is_no_alarm_is_none(line):
    assert decoded(line) is None


def test_what_an_alarm_may_lack():
    assert decoded('{"alarm": {"tier": "law", "rule": "a", "step": 1}}') == Alarm("law", "a", 1, "", "")


def test_a_command_that_is_missing_is_a_notice(directory, monkeypatch, caplog):
    monkeypatch.setenv("PLANPROOF_BINARY", "/nowhere/planproof")
    run(directory, "log", steps=2)
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "nobody watches" in caplog.text


def test_a_command_that_does_not_end_is_ended(directory, command, monkeypatch, seen):
    monkeypatch.setattr(alarms, "LONGEST_WAIT", 0.3)
    command("exec sleep 1000")
    start = time.monotonic()
    run(directory, seen.append, steps=2)
    assert time.monotonic() - start < 30 and journal(directory).closing["reason"] == "closed"


def test_what_to_do_is_one_of_three(directory):
    with pytest.raises(RecordingError, match="a callable or None"):
        run(directory, "mail")
    run(directory + "2", None, steps=1)
