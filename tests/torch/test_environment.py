"""Ranks are placed on nodes as torchrun places them, and what a program reads of its environment is recorded."""
import os

import pytest

torch = pytest.importorskip("torch")
from planproof.errors import RecordingError  # noqa: E402
from planproof.torch import Training, launch, shard  # noqa: E402
from planproof.torch import environment  # noqa: E402
from planproof.torch.environment import nodes_of, placed, read_environment  # noqa: E402
from planproof.torch.launch import main  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402


def test_ranks_are_placed_as_torchrun_places_them():
    third = placed(3, 4, 2)
    assert (third["RANK"], third["LOCAL_RANK"], third["LOCAL_WORLD_SIZE"], third["GROUP_RANK"], third["NODE_RANK"],
            third["GROUP_WORLD_SIZE"], third["WORLD_SIZE"]) == ("3", "1", "2", "1", "1", "2", "4")
    last = placed(4, 5, 2)
    assert (last["LOCAL_RANK"], last["LOCAL_WORLD_SIZE"], last["GROUP_RANK"]) == ("1", "2", "1")
    assert [placed(rank, 3, 1)["LOCAL_RANK"] for rank in range(3)] == ["0", "1", "2"]


def test_four_ranks_are_on_two_nodes():
    assert [nodes_of(world, None) for world in (1, 2, 3, 4, 16)] == [1, 1, 1, 2, 2]
    assert nodes_of(16, 4) == 4
    with pytest.raises(RecordingError, match="4 ranks cannot be placed on 5 nodes"):
        nodes_of(4, 5)


def test_readings_of_the_program_are_found(monkeypatch):
    monkeypatch.setenv("OF_THE_PROGRAM", "a")
    monkeypatch.setenv("WITH_A_TOKEN", "b")
    monkeypatch.setenv("ASKED", "c")
    monkeypatch.setenv("NOBODY_READS", "d")
    found = {}
    with read_environment(found):
        assert os.environ["OF_THE_PROGRAM"] == "a" and os.getenv("WITH_A_TOKEN") == "b" and "ASKED" in os.environ
        assert os.environ.get("NOT_THERE") is None
    assert found == {"OF_THE_PROGRAM": "a", "WITH_A_TOKEN": "(not recorded)", "ASKED": "c"}
    os.getenv("NOBODY_READS")
    assert "NOBODY_READS" not in found


def test_torch_reads_the_local_rank_for_the_program(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("TORCH_LOGS", "")
    found = {}
    with read_environment(found):
        torch.distributed.get_node_local_rank()
    assert found == {"LOCAL_RANK": "1"}


@pytest.mark.parametrize("package, counts", [(True, False), (False, True)])
def test_readings_of_installed_packages_do_not_count(package, counts, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("SETTING", "2")
    if package:
        monkeypatch.setattr(environment, "_INSTALLED", (str(tmp_path) + os.sep,))
    path = tmp_path / "framework.py"
    path.write_text("import os\ndef start():\n    return os.environ['LOCAL_RANK'], os.getenv('SETTING')\n")
    content, found = {}, {}
    exec(compile(path.read_text(), str(path), "exec"), content)
    with read_environment(found):
        assert content["start"]() == ("1", "2")
    assert found == ({"LOCAL_RANK": "1", "SETTING": "2"} if counts else {})


def by_local_rank(mesh):
    """Each rank takes the part of the batch that its local rank says, which is right on one node only."""
    model, x = torch.nn.Linear(4, 4), torch.randn(8, 4)
    inputs = {"x": x}
    if mesh is not None:
        rank, ranks = int(os.environ["LOCAL_RANK"]), mesh.size()
        x = x.chunk(ranks)[rank].clone()
        inputs = {"x": shard(x, 0, rank, ranks)}

    def step():
        model.zero_grad()
        model(x).square().sum().backward()
        if mesh is not None:
            for each in model.parameters():
                torch.distributed.all_reduce(each.grad)
        return {}

    return Training(step, model, None, inputs)


@pytest.mark.parametrize("nodes, local", [(None, "0101"), (1, "0123"), (4, "0000")])
def test_a_program_s_readings_are_in_its_trace(nodes, local, tmp_path):
    reference, *ranks = launch(by_local_rank, {"dp": 4}, tmp_path, start_method="fork", nodes=nodes)
    assert "environment" not in load(reference)
    assert [load(path)["environment"] for path in ranks] == [{"LOCAL_RANK": each} for each in local]


def test_nodes_are_an_option_of_the_command(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text("def build(mesh): pass")
    assert main([str(program), "--mesh", "dp=2", "--nodes", "3"]) == 64
    assert "2 ranks cannot be placed on 3 nodes" in capsys.readouterr().err
