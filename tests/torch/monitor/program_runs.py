"""Runs the programs of tests/torch/programs, and of tests/torch/faults, for some steps, with the monitor or without it.

A program is what `planproof.torch.launch` records: a file with `MESH` and `build(mesh)`, which gives a `Training`. Here its ranks
run over gloo, one process each, without being recorded. A run with another seed has other parameters and other data."""
import dataclasses
import hashlib
import importlib
import json
import multiprocessing
import os
import socket
import sys
import time
import traceback
from datetime import timedelta
from typing import Optional

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_TESTS = os.path.dirname(HERE)
for _path in (TORCH_TESTS, os.path.join(TORCH_TESTS, "programs"), os.path.join(TORCH_TESTS, "faults"), HERE,
              os.path.join(os.path.dirname(os.path.dirname(TORCH_TESTS)), "python")):
    if _path not in sys.path:
        sys.path.insert(0, _path)

from planproof.torch.environment import nodes_of, placed  # noqa: E402
from planproof.torch.recording import listed  # noqa: E402
from planproof.torch.relations import Output, local, output  # noqa: E402
from record_all import mesh_of  # noqa: E402

PATIENCE_S = 150


@dataclasses.dataclass(frozen=True)
class ProgramRun:
    """One run. `fault`: None for programs of programs/, for those of faults/ whether the fault is there. `dtype`: torch's
    default type, in which most programs compute."""

    program: str
    fault: Optional[bool] = None
    seed: int = 0
    steps: int = 10
    every: int = 1
    dtype: str = "float32"

    @property
    def mesh(self):
        return mesh_of(self.program, "programs" if self.fault is None else "faults")

    @property
    def ranks(self):
        count = 1
        for extent in self.mesh.values():
            count *= extent
        return count


@dataclasses.dataclass
class Outcome:
    """What the ranks of a run left: losses by rank, digests of parameters and optimizer states, or the first rank's error."""

    run: ProgramRun
    directory: Optional[str]
    losses: list
    digests: list
    seconds: float
    error: str = ""


class _OtherGenerator(torch.Generator):
    """A generator whose seeds are other ones than the program says."""

    offset = 0

    def manual_seed(self, seed):
        return super().manual_seed(seed + self.offset)


def _draw_otherwise(seed):
    """Programs draw data and some parameters from seeds of their own: these become other ones."""
    if seed == 0:
        return
    _OtherGenerator.offset = 7919 * seed
    torch.Generator = _OtherGenerator
    own = torch.manual_seed
    torch.manual_seed = lambda value: own(value + _OtherGenerator.offset)


def _start(run, rank, port):
    """Joins the other ranks. Gives the mesh, or None of a program without one."""
    if not run.mesh:
        return None
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **placed(rank, run.ranks, nodes_of(run.ranks, None)))
    dist.init_process_group("gloo", rank=rank, world_size=run.ranks, timeout=timedelta(seconds=PATIENCE_S))
    return init_device_mesh("cpu", tuple(run.mesh.values()), mesh_dim_names=tuple(run.mesh))


def _built(run, mesh):
    torch.set_default_dtype(getattr(torch, run.dtype))
    _draw_otherwise(run.seed)
    torch.manual_seed(0)
    module = importlib.import_module(run.program)
    return module.build(mesh) if run.fault is None else module.build(mesh, run.fault)


def _losses(outputs):
    """Numbers of a step by name: the first element of each output, and a digest of all of them."""
    found = {}
    for name, value in (outputs or {}).items():
        tensor = local((value if isinstance(value, Output) else output(value)).held.tensor).detach()
        found[name] = _digest([(name, tensor)]) if tensor.numel() != 1 else float(tensor)
    return found


def _digest(named):
    digest = hashlib.sha256()
    for name, tensor in named:
        own = local(tensor).detach().cpu().contiguous()
        digest.update(name.encode())
        digest.update(own.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _left(training):
    """Parameters, buffers and the optimizers' states."""
    found = []
    for number, model in enumerate(listed(training.model)):
        found += [(f"{number}.{name}", value) for name, value in model.named_parameters()]
        found += [(f"{number}.{name}", value) for name, value in model.named_buffers()]
    for number, optimizer in enumerate(listed(training.optimizer)):
        for index, state in enumerate(optimizer.state.values()):
            found += [(f"{number}.{index}.{word}", value) for word, value in sorted(state.items()) if isinstance(value, torch.Tensor)]
    return [(name, value) for name, value in found if local(value).dim() or local(value).numel() == 1]


def train(run, rank, port, directory, on_alarm=None, monitors=None, audit=None):
    """Builds the program and runs its steps in this process. Gives the outputs of steps, and a digest of what is left."""
    mesh = _start(run, rank, port)
    training = _built(run, mesh)
    watching = None
    if directory is not None:
        from planproof.torch import monitor
        watching = monitor(training.model, training.optimizer, directory, every=run.every, on_alarm=on_alarm, monitors=monitors, audit=audit,
                           rename=training.rename, placement=training.placement)
    losses = [_losses(training.step()) for _ in range(run.steps)]
    if watching is not None:
        watching.close()
    return losses, _digest(_left(training))


def _rank(run, rank, port, directory, scratch, options):
    torch.set_num_threads(1)
    log = open(os.path.join(scratch, f"rank{rank}.log"), "w", buffering=1)
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    try:
        losses, digest = train(run, rank, port, directory, **options)
        with open(os.path.join(scratch, f"rank{rank}.json"), "w") as file:
            json.dump({"losses": losses, "digest": digest}, file)
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()
    except BaseException:
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    log.flush()
    os._exit(0)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def prepare(program):
    """Imports here what the program's processes need, so that each of them does not. Shims change torch, so they do not come here."""
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
    for name in ("torch.distributed.fsdp", "torch.distributed.tensor.parallel", "planproof.torch.monitor"):
        importlib.import_module(name)
    if program.startswith("hf_"):
        importlib.import_module("transformers.models.auto.modeling_auto")


def execute(run, scratch, monitored=True, **options):
    """Runs all ranks; the journal is `scratch`/journal, printed lines are in `scratch`/rankN.log. `options`: `on_alarm`,
    `monitors` and `audit` of the monitor."""
    prepare(run.program)
    os.makedirs(scratch)
    directory = os.path.join(scratch, "journal") if monitored else None
    start, port = time.monotonic(), _free_port()
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_rank, args=(run, rank, port, directory, scratch, options)) for rank in range(run.ranks)]
    for process in processes:
        process.start()
    _join(processes, start + PATIENCE_S)
    outcome = Outcome(run, directory, [], [], time.monotonic() - start)
    for rank, process in enumerate(processes):
        path = os.path.join(scratch, f"rank{rank}.json")
        if process.exitcode or not os.path.exists(path):
            with open(os.path.join(scratch, f"rank{rank}.log")) as file:
                outcome.error = outcome.error or f"rank {rank}: exit {process.exitcode}: {file.read()[-3000:]}"
            continue
        with open(path) as file:
            left = json.load(file)
        outcome.losses.append(left["losses"])
        outcome.digests.append(left["digest"])
    return outcome


def _join(processes, end):
    """Waits until all have ended; if one fails the others, which may wait for it, are ended after some seconds."""
    while any(process.is_alive() for process in processes):
        time.sleep(0.02)
        if any(process.exitcode for process in processes):
            end = min(end, time.monotonic() + 5)
        if time.monotonic() > end:
            for process in processes:
                process.kill()
    for process in processes:
        process.join()
