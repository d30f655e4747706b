"""Runs a program under torch alone: a few iterations on all ranks and in one process, with nothing recorded."""
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from planproof.torch.environment import placed
from planproof.torch.relations import local, output
from torch.distributed.device_mesh import init_device_mesh

ITERATIONS = 3


def outputs_of(build, axes, directory):
    """For each iteration what each rank's step returned, as (tensor, how it is reduced, over which ranks)."""
    world = 1
    for size in axes.values():
        world *= size
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.start_processes(_run, (axes, world, build, directory, port), world, start_method="fork")
    return [torch.load(os.path.join(directory, f"plain{rank}"), weights_only=False) for rank in range(world)]


def _run(rank, axes, world, build, directory, port):
    torch.set_num_threads(1)
    mesh = None
    if axes:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **placed(rank, world, 1))
        dist.init_process_group("gloo", rank=rank, world_size=world)
        mesh = init_device_mesh("cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))
    torch.manual_seed(0)
    training = build(mesh)
    found = []
    for _ in range(ITERATIONS):
        results = {name: output(value) for name, value in (training.step() or {}).items()}
        found.append({name: (local(each.held.tensor).detach().clone(), each.held.part, each.reduce,
                             list(each.ranks) if each.ranks is not None else list(range(world)))
                      for name, each in results.items()})
    torch.save(found, os.path.join(directory, f"plain{rank}"))
    if axes:
        dist.barrier()
        dist.destroy_process_group()


def largest_difference(build, axes, directory):
    """The largest difference of a rank's result from the reference's over the iterations, relative to its size."""
    (reference,) = outputs_of(build, {}, directory)
    ranks = outputs_of(build, axes, directory)
    worst = 0.0
    for step, expected in enumerate(reference):
        for own in ranks:
            for name, (tensor, part, reduce, members) in own[step].items():
                value = tensor.double()
                if reduce:
                    value = sum(ranks[member][step][name][0].double() for member in members)
                    value = value / len(members) if reduce == "avg" else value
                wanted = part.of_whole(expected[name][0]).double()
                worst = max(worst, float((value - wanted).abs().max() / expected[name][0].double().abs().max().clamp(min=1e-12)))
    return worst
