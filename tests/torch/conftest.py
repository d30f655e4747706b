"""Without torch there is nothing to record; the traces that are committed are read by other tests."""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "programs")]
collect_ignore = ["programs"]


@pytest.fixture
def recorded(tmp_path):
    """Records a step and gives the trace, with `text(entry, key)` of its strings."""
    from planproof.torch import record
    from planproof.torch.trace_file import load

    def run(step, **options):
        path = tmp_path / "rank0.trace"
        record(step, path, **options)
        return Trace(load(path))

    return run


class Trace:
    """A trace, and questions that tests ask."""

    def __init__(self, content):
        self.content = content
        self.operators = content["operators"]

    def of(self, *names):
        """Operators of these names."""
        return [entry for entry in self.operators if entry.get("op") in names]

    def only(self, name):
        """The operator of this name, of which there is one."""
        (entry,) = self.of(name)
        return entry

    def names(self):
        return [entry.get("op", "wait") for entry in self.operators]

    def text(self, entry, key):
        return self.content["strings"][entry[key]] if key in entry else None

    def view(self, number):
        return self.content["tensors"][number]

    def storage(self, number):
        """The entry of the storage that a tensor shows."""
        return self.content["storages"][self.view(number)[0]]

    def input(self, name):
        (entry,) = [each for each in self.content["inputs"] if each["name"] == name]
        return entry

    def result(self, kind, name):
        (entry,) = [each for each in self.content["results"]
                    if (each["kind"], each["name"]) == (kind, name)]
        return entry
