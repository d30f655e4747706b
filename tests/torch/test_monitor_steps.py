"""Steps are written in order, whenever their facts arrive from the device."""
import os
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

from journal_reader import Journal as Reader  # noqa: E402

from planproof.errors import RecordingError  # noqa: E402
from planproof.torch.monitoring import journal as module  # noqa: E402
from planproof.torch.monitoring import steps as steps_module  # noqa: E402
from planproof.torch.monitoring.journal import Columns, Journal, Kind, Moment, Type, path_of  # noqa: E402
from planproof.torch.monitoring.steps import Steps  # noqa: E402
from planproof.torch.monitoring.sums import Sums  # noqa: E402


class Late:
    """Sums that arrive when it is said, or are waited for."""

    def __init__(self):
        self.arrived, self.waited = False, False

    def __call__(self, wait):
        self.waited |= wait
        return Sums.zeros(1) if wait or self.arrived else None


@pytest.fixture
def steps(tmp_path):
    return Steps(Journal(str(tmp_path), 0), 1)


def written(steps):
    return Reader(steps.journal.path)


def step(steps, fact=None):
    if fact is not None:
        steps.facts.append(Columns(steps.number, Moment.BEGIN, 0, "parameter", [0], None, fact))
    steps.add(Type.OPTIMIZER_BEGINS, 0, "SGD")
    steps.optimizer_begins(0)
    steps.optimizer_ended(0, 1)


def test_steps_wait_for_those_before(steps):
    late = Late()
    step(steps, late)
    step(steps)
    assert not written(steps).steps
    late.arrived = True
    step(steps)
    found = written(steps)
    assert sorted(found.steps) == [0, 1, 2] and [each["step"] for each in found.values] == [0] and not late.waited
    assert found.order.index(6) < found.order.index(5)


def test_what_is_still_on_its_way_at_the_end_is_waited_for(steps):
    late = Late()
    step(steps, late)
    steps.finish()
    assert late.waited and sorted(written(steps).steps) == [0]


def test_more_steps_than_may_wait_are_waited_for(steps):
    late = [Late() for _ in range(steps_module.MOST_WAITING + 1)]
    for each in late:
        step(steps, each)
        assert each is late[-1] or not late[0].waited
    assert late[0].waited and not late[1].waited and sorted(written(steps).steps) == [0]


def test_an_optimizer_that_steps_again_begins_a_step_where_the_last_one_ended(steps):
    def one(index):
        steps.optimizer_begins(index)
        steps.add(Type.OPTIMIZER_BEGINS, 0, str(index))
        steps.optimizer_ended(index, 2)
        steps.add(Type.LOSS, a=float(index))

    for index in (0, 0, 0, 1):
        one(index)
    steps.finish()
    assert [[(event["type"], event["subject"]) for event in content["events"]] for content in written(steps).steps.values()] == [
        [(8, "0")], [(5, None), (8, "0")], [(5, None), (8, "0")], [(5, None), (8, "1"), (5, None)]]


def rarely_sampled(directory):
    """Steps of which the first two are sampled, and written."""
    steps = Steps(Journal(str(directory), 0), 10 ** 6)
    step(steps)
    step(steps)
    assert sorted(written(steps).steps) == [0, 1]
    return steps


@pytest.mark.parametrize("more", [0, 1])
def test_steps_without_values_are_held_back_until_there_are_several(more, tmp_path, monkeypatch):
    monkeypatch.setattr(steps_module, "LONGEST_HELD", 10 ** 15)
    steps = rarely_sampled(tmp_path)
    for _ in range(steps_module.MOST_HELD - 1 + more):
        step(steps)
    assert len(written(steps).steps) == (2 + steps_module.MOST_HELD if more else 2)
    steps.finish()
    assert len(written(steps).steps) == 1 + steps_module.MOST_HELD + more
    assert steps_module.MOST_HELD < steps_module.MOST_WAITING


@pytest.mark.parametrize("late", [0, 1])
def test_steps_without_values_are_held_back_for_a_short_time(late, tmp_path, monkeypatch):
    steps = rarely_sampled(tmp_path)
    now = steps._drained + steps._start + steps_module.LONGEST_HELD - 1 + late
    monkeypatch.setattr(steps_module.time, "perf_counter_ns", lambda: now)
    step(steps)
    assert sorted(written(steps).steps) == ([0, 1, 2] if late else [0, 1])


@pytest.mark.parametrize("more", [0, 1])
def test_a_frame_has_a_largest_size(more, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PAYLOAD", 100)
    journal = Journal(str(tmp_path), 3)
    if more:
        with pytest.raises(RecordingError, match="has 101: monitor fewer tensors"):
            journal.frame(Kind.TEXT, b"x" * 101)
    else:
        journal.frame(Kind.TEXT, b"x" * 100)
        journal.close()
        assert Reader(path_of(str(tmp_path), 3)).texts == ["x" * 100]


def test_texts_are_cut_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_TEXT", 4)
    monkeypatch.setattr(module, "MOST_TEXTS", 2)
    journal = Journal(str(tmp_path), 0)
    assert [journal.text(each) for each in ("abcdé", "f", "abcdé", "g", None)] == [0, 1, 0, module.NO_TEXT, module.NO_TEXT]
    journal.close()
    assert Reader(journal.path).texts == ["abcd", "f"]
