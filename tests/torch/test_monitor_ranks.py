"""Journals of runs of several processes: parts add up to what all of them hold together."""
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

from journal_reader import Journal  # noqa: E402
from naive_sums import sums as naive  # noqa: E402
from small_ranks import RANKS, Model  # noqa: E402

BEGIN, BEFORE, CONTRIBUTED = 0, 2, 4


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    """Journals of a kind of parallelism, by rank. Each run is made once."""
    made = {}

    def run(kind):
        if kind not in made:
            directory = tmp_path_factory.mktemp(kind)
            subprocess.run([sys.executable, os.path.join(HERE, "monitor", "small_ranks.py"), kind, str(directory / "run"),
                            str(directory / "meeting")], check=True, stderr=subprocess.DEVNULL, timeout=500)
            made[kind] = [Journal(str(directory / "run" / f"rank{rank:05d}.journal")) for rank in range(RANKS[kind])]
        return made[kind]
    return run



@pytest.mark.parametrize("kind", RANKS)
def test_parts_add_up_to_the_model(kind, journals):
    torch.manual_seed(0)
    model = Model()
    for name, parameter in model.named_parameters():
        norm, sketches, fingerprint = naive(name, parameter.detach())
        parts = {}
        for found in journals(kind):
            (table, *_) = found.tables
            for entry in table:
                if entry["name"] == name and entry["local"]:
                    parts[str((entry.get("place"), entry.get("flat")))] = found.facts(0, BEGIN, "parameter")[name]
                    assert entry["of"] == list(parameter.shape)
        assert sum(part[2] for part in parts.values()) % 2 ** 64 == fingerprint, name
        assert abs(sum(part[0] ** 2 for part in parts.values()) - norm ** 2) <= 1e-5 * norm ** 2
        assert all(abs(sum(part[1][k] for part in parts.values()) - sketches[k]) <= 1e-5 * norm for k in range(4))


@pytest.mark.parametrize("kind", RANKS)
def test_ranks_write_the_same_steps_and_are_one_program(kind, journals):
    found = journals(kind)
    assert len({each.header["program"] for each in found}) == 1
    assert [each.header["rank"] for each in found] == list(range(RANKS[kind]))
    for each in found:
        assert each.header["world"] == RANKS[kind] and each.closing["steps"] == 4 and not each.cut_off
        assert {step["sampled"] for step in each.steps.values() if step["events"]} and len(each.tables) == 1


@pytest.mark.parametrize("kind, replicas", [("ddp", [[0, 1], [0, 1]]), ("hsdp", [[0, 2], [1, 3], [0, 2], [1, 3]]),
                                            ("fsdp2", [[0], [1]])])
def test_replicas_are_what_the_framework_says(kind, replicas, journals):
    found = journals(kind)
    assert [each.tables[0][0].get("replicas") for each in found] == replicas
    for each in found:
        for other in each.tables[0][0]["replicas"]:
            assert each.facts(2, BEFORE, "gradient")["words.weight"] == found[other].facts(2, BEFORE, "gradient")["words.weight"]


def test_a_gradient_is_the_mean_of_what_ranks_add(journals):
    found = journals("ddp")
    checked = 0
    for step in (0, 1, 2):
        terms = {}
        for each in found:
            for values in each.values:
                if (values["step"], values["moment"]) == (step, CONTRIBUTED):
                    terms.setdefault(each.tables[0][values["tensors"][0]]["name"], []).append(values["sketches"][1][0])
        before = found[0].facts(step, 1, "gradient")
        for name, own in terms.items():
            checked += 1
            assert len(own) == 2 and abs(sum(own) / 2 - before[name][1][1]) <= 1e-5 * before[name][0]
    assert checked


@pytest.mark.parametrize("kind, said", [("fsdp2", "reduce_scatter"), ("fsdp2_tp", "all_reduce"), ("hsdp", "all_gather")])
def test_collectives_are_seen(kind, said, journals):
    for each in journals(kind):
        subjects = {event["subject"] for _, event in each.events(13)}
        assert any(subject.startswith(said) and subject.endswith("float32") for subject in subjects), subjects


def test_what_ddp_reduces_is_not_observed(journals):
    assert all(any("DistributedDataParallel" in said["what"] for said in each.not_observed) for each in journals("ddp"))


@pytest.mark.parametrize("kind", ["ddp", "fsdp2", "hsdp"])
def test_states_that_are_read_have_the_parameters_fingerprint(kind, journals):
    for each in journals(kind):
        ((step, event),) = each.events(15)
        held = each.facts(step, BEGIN, "parameter")
        assert sum(facts[2] for facts in held.values()) % 2 ** 64 == event["c"] % 2 ** 64
