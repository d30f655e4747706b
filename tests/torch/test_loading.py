"""What a rank holds is what it is said to hold, or this is said: a sample of what judge_loading.py judges."""
import argparse

import pytest

torch = pytest.importorskip("torch")

import judge_loading  # noqa: E402

OPTIONS = argparse.Namespace(single=True, limit=60)


@pytest.mark.parametrize("name", ["part_zero_everywhere", "replicas_seeded_apart", "moments_of_another_shard", "sampler_by_global_rank",
                                  "running_mean_of_another_part", "labels_of_another_shuffle", "state_is_not_restored"])
def test_a_tensor_that_a_rank_holds_wrongly_is_named_with_rank_and_place(name, tmp_path):
    row = judge_loading.judged(name, True, tmp_path, judge_loading.FOLDER, OPTIONS)
    assert row["sound"] and (row["verdict"], row["missing"]) == ("MALFORMED", []), row["line"]


@pytest.mark.parametrize("name", ["adapter_without_its_scale", "masters_of_rounded_weights", "noise_seeded_by_rank", "qkv_cut_in_one"])
def test_ranks_that_hold_what_they_should_are_proved(name, tmp_path):
    row = judge_loading.judged(name, False, tmp_path, judge_loading.FOLDER, OPTIONS)
    assert row["sound"] and row["verdict"] == "PROVED", row["line"]


def test_every_program_has_a_mesh_and_a_fault():
    names = judge_loading.programs()
    assert len(names) >= 30
    for name in names:
        with open(f"{judge_loading.FOLDER}/{name}.py", encoding="utf-8") as file:
            assert "def build(mesh, fault=True):" in file.read()


@pytest.mark.parametrize("text, missing", [
    ("MALFORMED: up.weight: rank 1 holds 3.0 at [4, 0]", []),
    ("MALFORMED: up.weight: rank 0 holds 3.0 at [4, 0]", ["rank"]),
    ("MALFORMED: up.weight.step: rank 1 holds 3.0 at [4, 0]", ["tensor"]),
    ("MALFORMED: up.weight of ranks 1 and 2", ["place"])])
def test_tensor_rank_and_place_are_looked_for_in_the_first_line(text, missing):
    assert judge_loading.named(text, {"up.weight": [1]}) == missing
