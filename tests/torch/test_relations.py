"""Placements of DTensors as parts of wholes, against torch's own distribution."""
import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402
from planproof.torch.relations import Part, held, segments_of  # noqa: E402
from planproof.torch.shims.megatron import cut  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import Replicate, Shard, distribute_tensor  # noqa: E402
from torch.distributed.tensor.placement_types import _StridedShard  # noqa: E402

PLACEMENTS = [
    (Shard(0), Shard(0)), (Shard(0), Shard(1)), (Shard(1), Replicate()), (Replicate(), Shard(0)),
    (_StridedShard(0, split_factor=2), Shard(0)), (Replicate(), _StridedShard(1, split_factor=2))]


def check_all(rank):
    """Each placement of each shape: the part that is found is what the rank holds."""
    store = dist.HashStore()
    dist.init_process_group("fake", rank=rank, world_size=4, store=store)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    for shape in ((8, 12), (16, 8, 3), (9, 4)):
        whole = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
        for placements in PLACEMENTS:
            strided = any(isinstance(each, _StridedShard) for each in placements)
            if strided and shape[0] % 4:
                continue
            found = held(distribute_tensor(whole, mesh, placements, src_data_rank=None))
            assert torch.equal(found.part.of_whole(whole), found.tensor), (shape, placements)
            assert found.part.shape() == tuple(found.tensor.shape)
    dist.destroy_process_group()


def test_parts_of_dtensors_are_what_the_rank_holds():
    import torch.testing._internal.distributed.fake_pg  # noqa: F401
    for rank in range(4):
        multiprocessing.start_processes(check_all, (), 1, start_method="fork") if rank == 0 else \
            multiprocessing.start_processes(_as_rank, (rank,), 1, start_method="fork")


def _as_rank(_, rank):
    check_all(rank)


def test_segments_are_ascending_runs():
    assert segments_of([0, 1, 2, 6, 7, 4]) == [[0, 3], [6, 2], [4, 1]]
    assert segments_of([]) == []


def test_a_part_that_is_the_whole_is_left_out():
    assert Part((4, 2), [[[0, 4]], [[0, 2]]]).encoded() == {}
    assert Part((4,), flat=(1, 2)).encoded() == {"of": [4], "flat": [1, 2]}


def test_a_gated_layer_holds_two_pieces():
    assert cut((6, 4), 0, 1, 2, pieces=2).encoded() == {
        "of": [12, 4], "place": [[[3, 3], [9, 3]], [[0, 4]]]}


def test_names_of_wrappers_are_no_part_of_names():
    from planproof.torch.relations import module_names, parameters
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    model = torch.nn.Sequential(checkpoint_wrapper(torch.nn.Sequential(torch.nn.Linear(2, 2))), torch.nn.Linear(2, 2))
    model[1] = torch.compile(model[1])
    here = [name for name, _ in model.named_parameters()]
    assert "0._checkpoint_wrapped_module.0.weight" in here and "1._orig_mod.weight" in here
    known = list(parameters(model, None, None))
    assert [each.name for each in known] == ["0.0.weight", "0.0.bias", "1.weight", "1.bias"]
    assert [each.key for each in known] == here
    renamed = parameters(model, lambda key: key.replace("0._checkpoint", "2._checkpoint"), None)
    assert next(iter(renamed)).name == "2.0.weight"
    assert set(module_names(model, None).values()) == {"0", "0.0", "1"}
