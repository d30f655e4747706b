"""Collectives between processes: what the recorder writes, and what a replay makes of it."""
from functools import partial

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from planproof.torch import Training, launch  # noqa: E402
from planproof.torch.replay import Deletions, delete_each_collective, jobs, read, replay, replay_together  # noqa: E402
from planproof.torch.trace_file import load  # noqa: E402
from torch.distributed import _functional_collectives as functional  # noqa: E402

from conftest import Trace  # noqa: E402


def record_ranks(body, tmp_path, ranks=2):
    """Runs `body(x, group)` on each rank, with x of 4 elements, and gives the traces of the ranks."""
    paths = launch(partial(program, body), {"g": ranks}, tmp_path, warmup=0, start_method="fork")
    return [Trace(load(path)) for path in paths[1:]]


def program(body, mesh):
    if mesh is None:
        return Training(lambda: None, None)
    x = torch.arange(4.0) + mesh.get_rank()
    return Training(lambda: {"y": body(x, mesh.get_group())}, None, inputs={"x": x})


def all_reduce(x, group):
    dist.all_reduce(x, group=group)
    return x * 2


def test_a_collective_that_blocks_has_no_handle(tmp_path):
    trace = record_ranks(all_reduce, tmp_path)[1]
    entry = trace.only("c10d.allreduce_.default")
    assert trace.content["groups"] == [[0, 1]] and trace.content["axes"] == [["g", 2]]
    assert entry["in"] == entry["out"] == [trace.input("x")["tensor"]]
    assert (entry["collective"], entry["reduce"], entry["group"]) == ("all_reduce", "sum", 0)
    assert "work" not in entry and "wait" not in trace.names()


def asynchronous(x, group):
    work = dist.all_reduce(x, group=group, async_op=True)
    y = torch.ones(4).exp()
    work.wait()
    return x + y


def test_the_wait_stands_where_the_program_waits(tmp_path):
    trace = record_ranks(asynchronous, tmp_path)[0]
    names = [name for name in trace.names() if "ones" not in name and "fill" not in name]
    assert names == ["c10d.allreduce_.default", "aten.exp.default", "wait", "aten.add.Tensor"]
    assert trace.only("c10d.allreduce_.default")["work"] == 0


def scattered(x, group):
    out = torch.empty(2)
    dist.reduce_scatter_tensor(out, x, op=dist.ReduceOp.AVG, group=group)
    whole = torch.empty(4)
    dist.all_gather_into_tensor(whole, out, group=group)
    parts = [torch.empty(4), torch.empty(4)]
    dist.all_gather(parts, x, group=group)
    return whole + parts[1]


def test_tables_of_what_is_read_and_written(tmp_path):
    trace = record_ranks(scattered, tmp_path)[0]
    scatter, gather, parts = (entry for entry in trace.operators if "collective" in entry)
    assert (scatter["collective"], scatter["reduce"]) == ("reduce_scatter", "avg")
    assert gather["in"] == scatter["out"] and len(gather["out"]) == 1
    assert len(parts["out"]) == 2
    assert not [name for name in trace.names() if "split" in name or "copy" in name]
    assert replay(tmp_path).exact


def functional_form(x, group):
    y = functional.all_reduce(x, "sum", group)
    z = functional.all_gather_single(x, 0, group) if hasattr(functional, "all_gather_single") \
        else functional.all_gather_tensor(x, 0, group)
    return y.exp().sum() + z.sum()


def test_functional_collectives_are_waited_for_where_they_are_used(tmp_path):
    trace = record_ranks(functional_form, tmp_path)[0]
    reduce, gather = (entry for entry in trace.operators if "collective" in entry)
    waits = [index for index, entry in enumerate(trace.operators) if "wait" in entry]
    assert [trace.operators[index]["wait"] for index in waits] == [reduce["work"], gather["work"]]
    assert waits[0] < trace.names().index("aten.exp.default")
    assert replay(tmp_path).exact


def mail(x, group):
    if dist.get_rank() == 0:
        dist.send(x, 1, tag=3)
        return x
    received = torch.empty(4)
    work = dist.irecv(received, 0, tag=3)
    work.wait()
    return received


def test_messages_name_the_other_rank(tmp_path):
    first, second = record_ranks(mail, tmp_path)
    send, receive = first.only("c10d.send.default"), second.only("c10d.recv_.default")
    assert (send["peer"], send["tag"], send["out"]) == (1, 3, [])
    assert (receive["peer"], receive["tag"], receive["in"]) == (0, 3, [])
    assert second.names().index("wait") > second.names().index("c10d.recv_.default")


def rooted(x, group):
    dist.broadcast(x, 1, group=group)
    out = torch.empty(2)
    dist.scatter(out, [x[:2].clone(), x[2:].clone()] if dist.get_rank() == 0 else None, 0,
                 group=group)
    return out


def test_roots_are_ranks_of_the_job(tmp_path):
    first, second = record_ranks(rooted, tmp_path)
    assert first.only("c10d.broadcast_.default")["root"] == 1
    assert len(first.only("c10d.scatter_.default")["in"]) == 2
    assert second.only("c10d.scatter_.default")["in"] == []
    assert replay(tmp_path).exact


def sums_of_four(x, group):
    x = x * 0.1 + 0.7 ** dist.get_rank()
    dist.all_reduce(x, group=group)
    out = torch.empty(1)
    dist.reduce_scatter_tensor(out, x, group=group)
    return functional.all_reduce(x / 3, "avg", group).sum() + out


def test_sums_of_many_ranks_are_replayed_exactly(tmp_path):
    record_ranks(sums_of_four, tmp_path, 4)
    assert replay(tmp_path).exact


def pieces_of_sums_of_four(x, group):
    x = torch.sin(torch.arange(256.0) + dist.get_rank() * x.sum())
    out = torch.empty(64)
    dist.reduce_scatter_tensor(out, x, group=group)
    return out


def test_a_backend_that_ends_in_wait_does_not_sum_in_another_order(tmp_path):
    record_ranks(pieces_of_sums_of_four, tmp_path, 4)
    assert replay(tmp_path).exact


def test_each_deleted_collective_shows(tmp_path):
    record_ranks(scattered, tmp_path)
    assert delete_each_collective(tmp_path) == Deletions(3)


def gathered_again(x, group):
    whole = torch.empty(8)
    dist.all_gather_into_tensor(whole, x, group=group)
    dist.all_gather_into_tensor(whole, x, group=group)
    dist.all_gather_into_tensor(torch.empty(8), x, group=group)
    return whole.sum()


def test_a_deleted_collective_that_changes_no_value_shows(tmp_path):
    record_ranks(gathered_again, tmp_path)
    deletions = delete_each_collective(tmp_path)
    assert (deletions.count, deletions.unnoticed, len(deletions.without_effect)) == (3, [], 3)
    ranks = [read(path) for path in jobs(tmp_path)[-1]]
    for trace, _ in ranks:
        trace["operators"] = [entry for entry in trace["operators"]
                              if entry is not next(each for each in trace["operators"] if "collective" in each)]
    assert replay_together(ranks).miscounted == [
        f"rank {rank}: 2 collectives of the group of ranks [0, 1], 3 were recorded" for rank in range(2)]


def in_a_batch(x, group):
    other, gathered = 1 - dist.get_rank(), [torch.empty(8), torch.empty(8)]
    y, z = torch.empty(4), torch.empty(4)
    sent = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other),
            dist.P2POp(dist.isend, x * 2, other), dist.P2POp(dist.irecv, z, other)]
    for work in dist.batch_isend_irecv(sent):
        work.wait()
    with dist._coalescing_manager(group, async_ops=True) as works:
        for each in gathered:
            dist.all_gather_into_tensor(each, y + z, group=group)
    works.wait()
    dist.barrier(group)
    return gathered[0] + gathered[1]


def test_batches_are_counted_as_c10d_counts_them(tmp_path):
    trace = record_ranks(in_a_batch, tmp_path)[0]
    assert [entry["collective"] for entry in trace.operators if "collective" in entry] == [
        "send", "recv", "send", "recv", "all_gather", "all_gather", "barrier"]
    assert replay(tmp_path).exact


def past_the_dispatcher(x, group):
    group._get_backend(torch.device("cpu")).allreduce([x]).wait()
    return x * 2


def test_a_collective_that_the_dispatcher_does_not_see_is_refused(tmp_path):
    with pytest.raises(Exception, match=r"\[0, 1\] were run, and 0 passed"):
        record_ranks(past_the_dispatcher, tmp_path)


def test_a_replay_tells_a_changed_operator(tmp_path):
    record_ranks(asynchronous, tmp_path)
    ranks = [read(path) for path in jobs(tmp_path)[-1]]
    entry = next(entry for entry in ranks[0][0]["operators"] if entry.get("op") == "aten.exp.default")
    entry["op"] = "aten.sin.default"
    assert replay_together(ranks).differences == ["rank 0: output y"]


def test_a_missing_wait_shows(tmp_path):
    record_ranks(asynchronous, tmp_path)
    ranks = [read(path) for path in jobs(tmp_path)[-1]]
    for trace, _ in ranks:
        trace["operators"] = [entry for entry in trace["operators"] if "wait" not in entry]
    assert not replay_together(ranks).exact


def premultiplied(x, group):
    dist.all_reduce(x, op=dist._make_nccl_premul_sum(0.5), group=group)
    return x


def test_a_factor_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(Exception, match="PREMUL_SUM|premul"):
        record_ranks(premultiplied, tmp_path)


def chained(x, group):
    work = dist.all_reduce(x, group=group, async_op=True)
    work.get_future().then(lambda future: future.value()[0].mul_(3.0)).wait()
    return x


def test_what_is_chained_to_a_future_is_recorded(tmp_path):
    trace = record_ranks(chained, tmp_path)[0]
    assert trace.names() == ["c10d.allreduce_.default", "wait", "aten.mul_.Tensor"]
    assert replay(tmp_path).exact
