"""Iterations that are recorded as they come: the first one, compiled ones, ones in which frameworks reason about shapes."""
import pytest

torch = pytest.importorskip("torch")
from planproof.torch import Training, launch, record, recording, shard  # noqa: E402
from planproof.torch.relations import Part, held  # noqa: E402
from planproof.torch.replay import read, replay  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402


def test_operators_of_fake_tensors_run_and_are_not_recorded(recorded):
    x = torch.arange(3.0)
    fake = FakeTensorMode().from_tensor(x)

    def step():
        fake.mul_(2).add_(1)  # outside of its mode, as sharding propagation calls it
        return {"y": x * 3}

    assert recorded(step, inputs={"x": x}).names() == ["aten.mul.Tensor"]


def sharded(mesh, optimizer):
    from torch.distributed.fsdp import fully_shard
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    if mesh is not None:
        fully_shard(model, mesh=mesh)
    steps = optimizer(model.parameters())

    def step():
        steps.zero_grad()
        model(x).square().mean().backward()
        steps.step()
        return {}

    return Training(step, model, steps, {"x": x})


def momentum(mesh):
    return sharded(mesh, lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9))


def adam(mesh):
    return sharded(mesh, torch.optim.Adam)


def test_sharding_propagation_of_an_operator_is_no_operator_of_the_program(tmp_path):
    """mul_ of DTensors is met for the first time in the second iteration, when memory is watched that it writes."""
    paths = launch(momentum, {"dp": 2}, tmp_path, start_method="fork")
    assert len(paths) == 3


def test_the_first_iteration_is_recorded_with_the_states_that_it_makes(tmp_path):
    paths = launch(adam, {"dp": 2}, tmp_path, start_method="fork", warmup=0)
    for path in paths:
        trace = load(path)
        assert [each["name"] for each in trace["inputs"] if each["role"] == "state"] == []
        made = [each["name"] for each in trace["results"] if each["kind"] == "output"]
        assert {"new weight.exp_avg", "new bias.step"} <= set(made)
        assert not any("no parameters" in note for note in trace["notes"])


def compiled(mesh):
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    called = torch.compile(model, backend="eager")

    def step():
        return {"y": called(x)}

    return Training(step, model, None, {"x": x})


def test_the_trace_says_that_a_compiled_program_was_recorded_as_it_is_written(tmp_path):
    (path, *_) = launch(compiled, {}, tmp_path, start_method="fork")
    assert "the program as it is written was recorded, not what torch.compile made of it" in load(path)["notes"]


def test_without_torch_compile_nothing_is_said_of_it(recorded):
    x = torch.arange(3.0)
    assert not any("torch.compile" in note for note in recorded(lambda: {"y": x + 1}, inputs={"x": x}).content["notes"])


def in_double(mesh):
    torch.set_default_dtype(torch.float64)
    x = torch.randn(2)
    return Training(lambda: {"y": x + torch.arange(2) / 3}, nn.Linear(1, 1), None, {"x": x})


def test_a_replay_has_the_default_type_of_the_program(tmp_path):
    """The quotient of integers is of this type."""
    launch(in_double, {}, tmp_path, start_method="fork")
    assert torch.get_default_dtype() is torch.float32 and not replay(tmp_path).differences


def test_a_flat_piece_of_all_elements_is_the_whole():
    found = held(torch.arange(6.0), Part((2, 3), flat=(0, 6)))
    assert found.part.encoded() == {} and found.tensor.shape == (2, 3)
    piece = held(torch.arange(5.0), Part((2, 3), flat=(0, 5)))
    assert piece.part.encoded() == {"of": [2, 3], "flat": [0, 5]} and piece.tensor.shape == (5,)


def broadcast_table(mesh):
    """A table of constants that DistributedDataParallel sends in each iteration."""
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("table", torch.arange(4.0), persistent=False)

        def forward(self, x):
            return self.linear(x) * self.table

    model, x = Scaled(), torch.randn(2, 4)
    inputs = {"x": x}
    if mesh is not None:
        x = x.chunk(2)[mesh.get_rank()].clone()
        inputs = {"x": shard(x, 0, mesh.get_rank(), 2)}
        model = nn.parallel.DistributedDataParallel(model)

    def step():
        model.zero_grad()
        model(x).square().mean().backward()
        return {}

    return Training(step, model, None, inputs)


def test_a_table_that_is_overwritten_with_itself_is_no_state(tmp_path):
    for path in launch(broadcast_table, {"dp": 2}, tmp_path, start_method="fork"):
        assert [each["name"] for each in load(path)["inputs"] if each["role"] == "state"] == []


def record_both(_, directory):
    """A step with carried state as a function, and in a block."""
    def trained():
        torch.manual_seed(0)
        model, x = nn.Linear(3, 2), torch.ones(4, 3)
        optimizer, mean = torch.optim.AdamW(model.parameters()), {"weight": torch.zeros(2, 3)}

        def run():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            mean["weight"].lerp_(model.weight.detach(), 0.1)
            return {"loss": loss, "mean": mean["weight"] * 1}

        run()
        return run, mean, {"model": model, "optimizer": optimizer, "inputs": {"x": x}}

    run, _, named = trained()
    record(run, f"{directory}/function.trace", **named)
    run, mean, named = trained()
    assert mean
    with recording(f"{directory}/block.trace", **named) as outputs:
        outputs.update(run())


def test_a_block_is_recorded_as_a_function_is(tmp_path):
    """The same operators, inputs, results and carried state."""
    torch.multiprocessing.start_processes(record_both, (str(tmp_path),), 1, start_method="fork")
    function, block = (load(tmp_path / f"{name}.trace") for name in ("function", "block"))
    assert [each["op"] for each in function["operators"]] == [each["op"] for each in block["operators"]]
    for key in ("inputs", "results"):
        assert [each["name"] for each in function[key]] == [each["name"] for each in block[key]]
    assert "mean['weight']" in [each["name"] for each in block["inputs"]]


def test_a_block_that_fails_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="of the block"):
        with recording(tmp_path / "block.trace"):
            raise ValueError("of the block")
    assert not list(tmp_path.iterdir())


def padded(mesh):
    """FSDP2 cuts three rows over four ranks: the last one holds none, and sends memory that fills up."""
    from torch.distributed.fsdp import fully_shard
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    if mesh is not None:
        fully_shard(model, mesh=mesh)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        model.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        return {}

    return Training(step, model, optimizer, {"x": x})


def test_what_a_rank_sends_that_holds_no_rows_is_known(tmp_path):
    path = launch(padded, {"dp": 4}, tmp_path, start_method="fork")[-1]
    trace = load(path)
    (weight,) = [each for each in trace["inputs"] if each["name"] == "weight"]
    storage = trace["storages"][trace["tensors"][weight["tensor"]][0]]
    assert trace["tensors"][weight["tensor"]][3] == [0, 4] and storage["size"] == 4 and storage["uniform"] == 0.0
    (empty,) = [each for each in trace["inputs"] if each["name"] == "weight.momentum_buffer"]
    assert len(read(path)[1][f"storage_{trace['tensors'][empty['tensor']][0]}"]) == 0
