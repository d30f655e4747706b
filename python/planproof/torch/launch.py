"""Runs the ranks of a program on this machine and has their traces verified.

    python -m planproof.torch.launch program.py --mesh dp=2,tp=2 [--out DIRECTORY]

`program.py` has a function `build(mesh)` that returns a `Training`; the mesh is None for the single-process
program. Without --out the traces are verified and thrown away."""
from __future__ import annotations

import argparse
import importlib
import os
import socket
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from planproof.report import Report
from planproof.torch.recording import Models, Optimizers, record
from planproof.torch.relations import Placement, Rename
from planproof.torch.trace_file import Path
from planproof.verification import verify


@dataclass
class Training:
    """One rank's program: `step` runs an iteration and returns its outputs (see `record`)."""

    step: Callable[[], Optional[Mapping[str, Any]]]
    model: Models
    optimizer: Optimizers = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    rename: Optional[Rename] = None
    placement: Optional[Placement] = None
    hidden: Sequence[str] = ()
    notes: Sequence[str] = ()


#: Makes the program of a rank; the mesh is None for the single-process program.
Build = Callable[[Optional[DeviceMesh]], Training]
#: `{"dp": 2, "tp": 2}`, outermost first.
Axes = Mapping[str, int]

#: A rank that waits longer for another one gives up.
_PATIENCE = timedelta(seconds=120)

REFERENCE = "reference.trace"


def trace_names(axes: Axes) -> List[str]:
    """File names of the reference's trace and the ranks'."""
    ranks = range(_world(axes)) if axes else ()
    return [REFERENCE, *(f"rank{rank}.trace" for rank in ranks)]


def launch(build: Build, axes: Axes, directory: Path, *, warmup: int = 2, seed: int = 0,
           start_method: str = "spawn") -> List[str]:
    """Records the single-process program and each rank of the mesh, as processes of this machine
    that communicate by gloo, into `directory`. Iterations of `warmup` precede the recorded one, so
    that the optimizer has a state and buckets have been built. Returns the paths of the traces, the reference's first.

    `build` is called in the processes: a function of a module, if they are spawned."""
    directory = os.fspath(directory)
    os.makedirs(directory, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for world, target in ((1, {}), (_world(axes), dict(axes)))[:2 if axes else 1]:
        multiprocessing.start_processes(
            _run, (world, target, build, directory, warmup, seed, port), world,
            start_method=start_method)
    return [os.path.join(directory, name) for name in trace_names(axes)]


def check(build: Build, mesh: Axes, *, directory: Optional[Path] = None, warmup: int = 2,
          seed: int = 0, start_method: str = "spawn", **options: Any) -> Report:
    """Records (see `launch`) and decides whether the ranks compute what the single process does.
    `options` are those of `planproof.verify`."""
    with tempfile.TemporaryDirectory(prefix="planproof-") as temporary:
        paths = launch(build, mesh, directory or temporary, warmup=warmup, seed=seed,
                       start_method=start_method)
        return verify(paths, **options)


def build_of(path: Path, mesh: Optional[DeviceMesh]) -> Training:
    """Calls `build` of a file, with the file's directory on the path of modules."""
    directory, name = os.path.split(os.path.abspath(path))
    if directory not in sys.path:
        sys.path.insert(0, directory)
    module = importlib.import_module(os.path.splitext(name)[0])
    training: Training = module.build(mesh)
    return training


def _world(axes: Axes) -> int:
    world = 1
    for size in axes.values():
        world *= size
    return world


def _run(rank: int, world: int, axes: Axes, build: Build, directory: str, warmup: int, seed: int,
         port: int) -> None:
    torch.set_num_threads(1)
    mesh: Optional[DeviceMesh] = None
    if axes:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                          WORLD_SIZE=str(world), LOCAL_RANK=str(rank))
        dist.init_process_group("gloo", rank=rank, world_size=world,
                                timeout=_PATIENCE)
        mesh = init_device_mesh("cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))
    torch.manual_seed(seed)
    training = build(mesh)
    for _ in range(warmup):
        training.step()
    name = f"rank{rank}.trace" if axes else REFERENCE
    record(training.step, os.path.join(directory, name), model=training.model,
           optimizer=training.optimizer, inputs=training.inputs, rename=training.rename,
           placement=training.placement, hidden=training.hidden, notes=training.notes, axes=_pairs(axes))
    if axes:
        dist.barrier()
        dist.destroy_process_group()


def _pairs(axes: Axes) -> List[Tuple[str, int]]:
    return [(name, size) for name, size in axes.items()]


def _axes(text: str) -> Axes:
    """`dp=2,tp=2` as a mapping."""
    pairs = [axis.split("=") for axis in text.split(",")]
    return {name: int(size) for name, size in pairs}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command: the verdict's exit code, or 0 if traces are only recorded."""
    parser = argparse.ArgumentParser(prog="python -m planproof.torch.launch",
                                     description="Records a program's ranks, and verifies them.")
    parser.add_argument("program", help="a Python file with build(mesh)")
    parser.add_argument("--mesh", type=_axes, required=True, metavar="AXIS=SIZE,...",
                        help="axes of the mesh, outermost first")
    parser.add_argument("--out", metavar="DIRECTORY", help="keep the traces here, do not verify")
    parser.add_argument("--warmup", type=int, default=2, metavar="N",
                        help="iterations before the recorded one (default 2)")
    options = parser.parse_args(arguments)
    build = partial(build_of, options.program)
    if options.out:
        for path in launch(build, options.mesh, options.out, warmup=options.warmup):
            print(path)
        return 0
    report = check(build, options.mesh, warmup=options.warmup)
    print(report)
    return 0 if report else 1


if __name__ == "__main__":
    # The processes look functions up in the module by its name, so it is not __main__ that runs.
    from planproof.torch.launch import main as run
    sys.exit(run())
