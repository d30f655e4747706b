"""Random numbers are inputs that ranks and the single-process program have in common where that is known or said."""
from functools import partial

import pytest

torch = pytest.importorskip("torch")
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Training, check, launch, reduced, shard  # noqa: E402
from planproof.torch.draws import Draws  # noqa: E402
from planproof.torch.replay import replay  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402
from torch import nn  # noqa: E402


def dropped(mesh, draws=None, alike=False, recomputed=False):
    """Data parallel with dropout. Ranks are seeded apart, unless they are `alike`."""
    model, x = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.25), nn.Linear(8, 3)), torch.randn(4, 6)
    inputs = {"x": x}
    if mesh is not None:
        rank = mesh.get_rank()
        x = x.chunk(2)[rank].clone()
        inputs = {"x": shard(x, 0, rank, 2)}
        if not alike:
            torch.manual_seed(100 + rank)

    def step():
        model.zero_grad()
        loss = (torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False) if recomputed and mesh is not None else model(x)).square().mean()
        loss.backward()
        if mesh is None:
            return {"loss": loss}
        for each in model.parameters():
            torch.distributed.all_reduce(each.grad.div_(2))
        return {"loss": reduced(loss, "avg")}

    return Training(step, model, None, inputs, draws=draws)


def noisy(mesh, computed=False):
    """Noise whose width differs from the single-process program's, or is computed from a tensor."""
    x = torch.full((4, 2), 3.0)
    inputs, width = {"x": x}, 1.0
    if mesh is not None:
        x = x.chunk(2)[mesh.get_rank()].clone()
        inputs, width = {"x": shard(x, 0, mesh.get_rank(), 2)}, 2.0

    def step():
        spread = x.mean().item() if computed else width
        return {"y": reduced((x + torch.empty_like(x).normal_(0.0, spread)).sum(), "sum") if mesh is not None else
                (x + torch.empty_like(x).normal_(0.0, spread)).sum()}

    return Training(step, nn.Linear(1, 1), None, inputs, draws="apart over dp")


def test_draws_of_another_distribution_are_not_taken_for_the_same(tmp_path):
    with pytest.raises(RecordingError, match=r"normal_.default\(0.0, 2.0\), which the single-process program does not draw"):
        launch(noisy, {"dp": 2}, tmp_path, start_method="fork")


def test_a_distribution_that_is_computed_from_tensors_is_not_left_out(tmp_path):
    (path, *_) = launch(partial(noisy, computed=True), {"dp": 2}, tmp_path, start_method="fork")
    assert inputs_of(path) == {} and "aten.normal_.default" in [each.get("op") for each in load(path)["operators"]]


def inputs_of(path):
    return {each["name"]: each for each in load(path)["inputs"] if each["name"].startswith("draw")}


@pytest.mark.parametrize("recomputed", [False, True])
def test_masks_that_are_said_to_be_apart_are_parts_of_the_whole_mask(tmp_path, recomputed):
    report = check(partial(dropped, draws="apart over dp", recomputed=recomputed), {"dp": 2}, directory=tmp_path, start_method="fork")
    assert report.proved, str(report)
    assert any("apart over dp, as the program says" in each for each in report.assumptions)
    assert [inputs_of(tmp_path / f"rank{rank}.trace")["draw 1 of 1: aten.bernoulli_.float(0.75)"]["place"][0] for rank in (0, 1)] == [[[0, 2]], [[2, 2]]]


def test_a_rank_that_reads_another_mask_than_it_says_is_not_proved(tmp_path):
    """The second rank's mask is said to be the first rows of the whole mask, too, in a trace that says so."""
    import json
    launch(partial(dropped, draws="apart over dp"), {"dp": 2}, tmp_path, start_method="fork")
    path = tmp_path / "rank1.trace"
    from planproof import verify
    from planproof.torch.trace_file import save
    trace = load(path)
    (entry,) = [each for each in trace["inputs"] if each["name"] == "draw 1 of 1: aten.bernoulli_.float(0.75)"]
    entry["place"][0] = [[0, 2]]
    save(json.loads(json.dumps(trace)), path)
    assert not verify([tmp_path / "reference.trace", tmp_path / "rank0.trace", path], cache=False).proved


def test_masks_of_generators_in_another_state_are_not_taken_for_the_same(tmp_path):
    report = check(dropped, {"dp": 2}, directory=tmp_path, start_method="fork")
    assert str(report.verdict) == "UNKNOWN" and "bernoulli_" in report.headline
    assert any('say how they are related, such as draws={"1": "apart over dp"}' in note for note in load(tmp_path / "rank0.trace")["notes"])
    assert inputs_of(tmp_path / "rank0.trace") == {}


def test_masks_of_half_the_batch_are_not_the_whole_batch_s_though_generators_are_in_the_same_state(tmp_path):
    assert not check(partial(dropped, alike=True), {"dp": 2}, directory=tmp_path, start_method="fork").proved


def same_seed(mesh):
    """Ranks of tensor parallelism hold activations whole, and drop the same of them."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model, x = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6), nn.Dropout(0.25)), torch.randn(4, 6)
    if mesh is not None:
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})

    def step():
        model.zero_grad()
        torch.manual_seed(7)
        loss = model(x).square().mean()
        loss.backward()
        return {"loss": loss}

    return Training(step, model, None, {"x": x})


def test_masks_of_generators_in_the_same_state_are_the_same(tmp_path):
    report = check(same_seed, {"tp": 2}, directory=tmp_path, start_method="fork")
    assert report.proved, str(report)
    assert any("generators are in the same state" in each for each in report.assumptions)


@pytest.mark.parametrize("said, message", [
    ("same over dp", r"the single-process program draws \[4, 8\] where \"same over dp\" means \[2, 8\]"),
    ("apart over tp", "the mesh has no axis tp, it has dp"), ("apart", 'not "apart"'),
    ("apart over dp along 2", "what is drawn has 2 dimensions")])
def test_what_cannot_be_said_of_draws_is_one_line(tmp_path, said, message):
    with pytest.raises(RecordingError, match=message):
        launch(partial(dropped, draws=said), {"dp": 2}, tmp_path, start_method="fork")


def test_an_axis_of_which_nothing_is_said_is_an_error():
    draws = Draws("apart over dp", [("dp", 2), ("tp", 2)], 1, None)
    with pytest.raises(RecordingError, match='add "same over tp" or "apart over tp"'):
        draws.drawn(torch.ops.aten.rand.default, [[2]], {}, torch.get_rng_state(), torch.rand(2), "drop", None)


def test_parts_along_several_axes_lie_as_ranks_do():
    """Rank 3 of dp=2, cp=2: the second half of the rows, and the second half of the columns."""
    draws = Draws("apart over dp, apart over cp along 1", [("dp", 2), ("cp", 2)], 3, None)
    found = draws.drawn(torch.ops.aten.rand.default, [[2, 3]], {}, torch.get_rng_state(), torch.rand(2, 3), "drop", None)
    assert found.part.of == (4, 6) and found.part.place == [[[2, 2]], [[3, 3]]]
    nested = Draws("apart over dp, apart over cp", [("dp", 2), ("cp", 2)], 2, None)
    found = nested.drawn(torch.ops.aten.rand.default, [[2, 3]], {}, torch.get_rng_state(), torch.rand(2, 3), "drop", None)
    assert found.part.of == (8, 3) and found.part.place == [[[4, 2]], [[0, 3]]]


def sampled(mesh):
    """A draw that depends on tensors stays what it is; it is replayed from the state in which its generator was."""
    x = torch.rand(5)

    def step():
        noise = torch.rand(5)
        return {"y": torch.bernoulli(x) + noise}

    return Training(step, nn.Linear(1, 1), None, {"x": x})


def test_draws_after_draws_are_replayed(tmp_path):
    (path,) = launch(sampled, {}, tmp_path, start_method="fork")
    names = [each["op"] for each in load(path)["operators"]]
    assert "aten.bernoulli.default" in names and "aten.rand.default" not in names
    assert not replay(tmp_path).differences


def test_a_draw_that_is_written_later_keeps_its_numbers_as_an_input(recorded):
    def step():
        noise = torch.rand(3)
        return {"y": noise.mul_(2)}

    trace = recorded(step)
    (entry,) = [each for each in trace.content["inputs"] if each["name"].startswith("draw")]
    assert trace.only("aten.clone.default")["args"] == [{"tensor": entry["tensor"]}] and entry["domain"] == [0, None]
