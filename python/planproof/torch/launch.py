"""Runs the ranks of a program on this machine and has their traces verified.

    python -m planproof.torch.launch program.py --mesh dp=2,tp=2 [--ranks RANK,...] [--relations FILE] [--out DIRECTORY]

`program.py` has a function `build(mesh)` that returns a `Training`; the mesh is None for the single-process
program. Without --out the traces are verified and thrown away."""
from __future__ import annotations

import argparse
import importlib
import logging
import os
import pickle
import socket
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from planproof.errors import PlanproofError, RecordingError, VerificationTimeout
from planproof.report import Report
from planproof.torch.beginning import Beginning
from planproof.torch.draws import Said
from planproof.torch.environment import nodes_of, placed, read_environment
from planproof.torch.overrides import Given, Overrides
from planproof.torch.recording import Models, Optimizers, listed, record
from planproof.torch.relations import Placement, Rename
from planproof.torch.replay import confirm
from planproof.torch.some_ranks import NOTE, axes_to_extend, checked, join_without_others
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
    #: How random numbers of the ranks are related (`planproof.torch.draws`).
    draws: Said = None


#: Makes the program of a rank; the mesh is None for the single-process program.
Build = Callable[[Optional[DeviceMesh]], Training]
#: `{"dp": 2, "tp": 2}`, outermost first.
Axes = Mapping[str, int]

#: A rank that waits longer for another one gives up.
_PATIENCE = timedelta(seconds=120)

REFERENCE = "reference.trace"


def trace_names(axes: Axes, ranks: Optional[Sequence[int]] = None) -> List[str]:
    """File names of the reference's trace and the ranks', of all if none are named."""
    if ranks is None:
        ranks = range(_world(axes)) if axes else ()
    return [REFERENCE, *(f"rank{rank}.trace" for rank in ranks)]


def launch(build: Build, axes: Axes, directory: Path, *, warmup: int = 2, seed: int = 0,
           start_method: str = "spawn", overrides: Given = None,
           timeout: Optional[float] = None, ranks: Optional[Sequence[int]] = None,
           nodes: Optional[int] = None) -> List[str]:
    """Records the single-process program and each rank of the mesh, as processes of this machine
    that communicate by gloo, into `directory`. Iterations of `warmup` precede the recorded one, so
    that the optimizer has a state and buckets have been built. What was recorded is then replayed, and RecordingError is raised
    if that does not give what the program computed. Returns the paths of the traces, the reference's first.
    `overrides` are those of `record`, for the ranks. After `timeout` seconds the processes are ended, and
    VerificationTimeout is raised.

    `nodes`: ranks find in their environment what torchrun gives them on so many nodes; on two, if there are four ranks or more.
    `ranks`: only these are recorded, each without the others (`planproof.torch.some_ranks`).

    `build` is called in the processes: a function of a module, if they are spawned."""
    end = None if timeout is None else time.monotonic() + timeout
    directory, said = os.fspath(directory), Overrides.read(overrides)
    nodes = nodes_of(_world(axes), nodes)
    if ranks is not None:
        ranks = checked(ranks, _world(axes))
        if said.entries:
            raise RecordingError("relations are made of what all ranks hold, so they cannot be said where only "
                                 "some ranks are recorded; say them in the program")
    if start_method == "spawn":
        _can_be_sent(build)
    os.makedirs(directory, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for target in ({}, dict(axes))[:2 if axes else 1]:
        some = ranks if target else None
        processes = len(some) if some is not None else _world(target)
        running = multiprocessing.start_processes(
            _run, (some, target, build, directory, warmup, seed, port, said, nodes), processes, join=False,
            start_method=start_method)
        _join(running, end)
        if some is None:
            confirm([[os.path.join(directory, name) for name in
                      (trace_names(target)[1:] if target else [REFERENCE])]])
    return [os.path.join(directory, name) for name in trace_names(axes, ranks)]


def _can_be_sent(build: Build) -> None:
    try:
        pickle.dumps(build)
    except Exception as error:
        raise RecordingError(f"build cannot be sent to a new process ({error}): define it at the top "
                             'of a module, or say start_method="fork"') from None


def _join(running: Any, end: Optional[float]) -> None:
    """Waits until all processes have ended; what they say of a recording is this process's error."""
    log = logging.getLogger("torch.multiprocessing.spawn")
    before, log.disabled = log.disabled, True  # it tells of processes that are ended since one failed
    try:
        while not running.join(None if end is None else max(0.0, min(end - time.monotonic(), 1.0))):
            if end is not None and time.monotonic() >= end:
                raise VerificationTimeout("the program has not been recorded in time")
    except multiprocessing.ProcessRaisedException as error:
        mark = f"\n{RecordingError.__module__}.{RecordingError.__qualname__}: "
        _, found, message = str(error).rstrip().rpartition(mark)
        if not found or "\n" in message:
            raise
        raise RecordingError(message) from None
    finally:
        log.disabled = before
        for process in running.processes:
            if process.is_alive():
                process.kill()
                process.join()


def check(build: Build, mesh: Axes, *, directory: Optional[Path] = None, warmup: int = 2,
          seed: int = 0, start_method: str = "spawn", overrides: Given = None,
          timeout: Optional[float] = None, ranks: Optional[Sequence[int]] = None,
          nodes: Optional[int] = None, **options: Any) -> Report:
    """Records (see `launch`) and decides whether the ranks compute what the single process does. If only some
    `ranks` are recorded, the others are taken to run the same program, which the report lists as assumed.
    Traces are kept if there is a `directory`. `timeout` is in seconds for all of it
    (VerificationTimeout); `options` are those of `planproof.verify`."""
    end = None if timeout is None else time.monotonic() + timeout
    with tempfile.TemporaryDirectory(prefix="planproof-") as temporary:
        paths = launch(build, mesh, directory or temporary, warmup=warmup, seed=seed,
                       start_method=start_method, overrides=overrides, timeout=timeout,
                       ranks=ranks, nodes=nodes)
        if ranks is not None:
            options.setdefault("extend", axes_to_extend(mesh, ranks) or None)
        left = None if end is None else max(0.001, end - time.monotonic())
        return verify(paths, timeout=left, **options)


def build_of(path: Path, mesh: Optional[DeviceMesh]) -> Training:
    """Calls `build` of a file, with the file's directory on the path of modules."""
    directory, name = os.path.split(os.path.abspath(path))
    if not os.path.isfile(path):
        raise RecordingError(f"{os.fspath(path)} is no file")
    if directory not in sys.path:
        sys.path.insert(0, directory)
    module = importlib.import_module(os.path.splitext(name)[0])
    if not callable(getattr(module, "build", None)):
        raise RecordingError(f"{os.fspath(path)} has no function build(mesh)")
    training: Training = module.build(mesh)
    return training


def _world(axes: Axes) -> int:
    world = 1
    for size in axes.values():
        world *= size
    return world


def _run(process: int, ranks: Optional[Sequence[int]], axes: Axes, build: Build, directory: str,
         warmup: int, seed: int, port: int, overrides: Overrides, nodes: int) -> None:
    torch.set_num_threads(1)
    rank, world = process if ranks is None else ranks[process], _world(axes)
    mesh: Optional[DeviceMesh] = None
    if axes:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **placed(rank, world, nodes))
        if ranks is None:
            dist.init_process_group("gloo", rank=rank, world_size=world, timeout=_PATIENCE)
        else:
            join_without_others(rank, world)
        mesh = init_device_mesh("cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))
    torch.manual_seed(seed)
    environment: Dict[str, str] = {}
    with read_environment(environment):
        training = build(mesh)
        if not isinstance(training, Training):
            raise RecordingError(f"build gave a {type(training).__name__}, no planproof.torch.Training")
        beginning = Beginning(listed(training.model), listed(training.optimizer), training.inputs, training.placement,
                              environment)
        for left in reversed(range(warmup)):
            beginning.iterate(training.step, left == 0)
    name = f"rank{rank}.trace" if axes else REFERENCE
    record(training.step, os.path.join(directory, name), model=training.model,
           optimizer=training.optimizer, inputs=training.inputs, rename=training.rename,
           placement=training.placement, hidden=training.hidden, draws=training.draws,
           notes=[*training.notes, *([NOTE] if ranks is not None else [])],
           axes=_pairs(axes), overrides=overrides, beginning=beginning, made_up=ranks is not None and bool(axes))
    if axes:
        dist.barrier()
        dist.destroy_process_group()


def _pairs(axes: Axes) -> List[Tuple[str, int]]:
    return [(name, size) for name, size in axes.items()]


def _axes(text: str) -> Axes:
    """`dp=2,tp=2` as a mapping."""
    found = {}
    for axis in text.split(","):
        name, _, size = axis.partition("=")
        if not name or not size.isdecimal() or not int(size) or name in found:
            raise argparse.ArgumentTypeError(f"axes with their sizes are expected, such as dp=2,tp=2, "
                                             f"not {text}")
        found[name] = int(size)
    return found


def _ranks(text: str) -> List[int]:
    """`0,1` as a list."""
    if not all(word.isdecimal() for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"ranks are expected, such as 0,1, not {text}")
    return [int(word) for word in text.split(",")]


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command: 0 if PROVED, 1 if not, 64 if there is no verdict; 0 if traces are only recorded."""
    parser = argparse.ArgumentParser(prog="python -m planproof.torch.launch",
                                     description="Records a program's ranks, and verifies them.")
    parser.add_argument("program", help="a Python file with build(mesh)")
    parser.add_argument("--mesh", type=_axes, required=True, metavar="AXIS=SIZE,...",
                        help="axes of the mesh, outermost first")
    parser.add_argument("--ranks", type=_ranks, metavar="RANK,...",
                        help="record only these ranks of the mesh, each without the others; the others are taken to "
                             "run the same program (planproof verify --extend)")
    parser.add_argument("--nodes", type=int, metavar="N",
                        help="nodes on which the ranks are: LOCAL_RANK and the like are as torchrun sets them there (default 2 "
                             "from four ranks on, else 1)")
    parser.add_argument("--relations", metavar="FILE",
                        help="JSON: names, parts and reductions, over what the program says")
    parser.add_argument("--out", metavar="DIRECTORY", help="keep the traces here, do not verify")
    parser.add_argument("--warmup", type=int, default=2, metavar="N",
                        help="iterations before the recorded one (default 2)")
    options = parser.parse_args(arguments)
    build = partial(build_of, options.program)
    try:
        if options.out:
            for path in launch(build, options.mesh, options.out, warmup=options.warmup,
                               overrides=options.relations, ranks=options.ranks, nodes=options.nodes):
                print(path)
            return 0
        report = check(build, options.mesh, warmup=options.warmup, overrides=options.relations,
                       ranks=options.ranks, nodes=options.nodes)
    except (PlanproofError, multiprocessing.ProcessRaisedException) as error:
        print(str(error).strip(), file=sys.stderr)
        return 64
    print(report)
    return 0 if report else 1


if __name__ == "__main__":
    # The processes look functions up in the module by its name, so it is not __main__ that runs.
    from planproof.torch.launch import main as run
    sys.exit(run())
