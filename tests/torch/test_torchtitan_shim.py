"""The shim changes no value: attention and the exchange of lists are what their definitions say."""
import importlib.util

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("torchtitan") is None:
    pytest.skip("no torchtitan", allow_module_level=True)
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402


def attend(_):
    from planproof.torch.shims import torchtitan as shim
    shim.install()
    from torchtitan.models.common.config_utils import get_attention_config
    q = torch.randn(2, 8, 4, 4)
    k, v = torch.randn(2, 2, 8, 2, 4).unbind(0)
    out = get_attention_config("flex").build()(q, k, v, enable_gqa=True)
    keys, values = (each.repeat_interleave(2, 2).transpose(1, 2) for each in (k, v))
    scores = q.transpose(1, 2) @ keys.transpose(-2, -1) / 2
    scores = scores + torch.full((8, 8), float("-inf")).triu(1)
    torch.testing.assert_close(out, (torch.softmax(scores, -1) @ values).transpose(1, 2))


def test_attention_is_causal_softmax_of_grouped_queries():
    multiprocessing.start_processes(attend, (), 1, start_method="fork")


def exchange(rank, path):
    dist.init_process_group("gloo", store=dist.FileStore(path, 2), rank=rank, world_size=2)
    from planproof.torch.shims import torchtitan as shim
    shim.install()
    import spmd_types._dist as used
    sizes = [[1, 3], [2, 0]]  # sizes[a][b]: rows from a to b
    inputs = [torch.full((rows, 2), 10.0 * rank + peer) for peer, rows in enumerate(sizes[rank])]
    outputs = [torch.empty(sizes[peer][rank], 2) for peer in range(2)]
    used.dist.all_to_all(outputs, inputs, group=dist.group.WORLD)
    for peer, output in enumerate(outputs):
        assert torch.equal(output, torch.full((sizes[peer][rank], 2), 10.0 * peer + rank))
    assert used.dist.get_rank() == rank
    dist.destroy_process_group()


def test_lists_of_different_sizes_are_exchanged(tmp_path):
    multiprocessing.start_processes(exchange, (str(tmp_path / "store"),), 2, start_method="fork")
