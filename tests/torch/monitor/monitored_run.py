"""Runs the programs of `programs/` in processes of their own, with the monitor or without it.

A program is a module with `RANKS`, `OPTIMIZER` (its default) and `train(run)`. It gets a `Run`: its settings, the monitor, and where its
losses and parameters go, so that a monitored run can be compared with one that is not, bit for bit."""
import contextlib
import dataclasses
import hashlib
import importlib
import json
import multiprocessing
import os
import sys
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_TESTS = os.path.dirname(HERE)
for _path in (os.path.join(HERE, "programs"), os.path.join(TORCH_TESTS, "programs"), HERE,
              os.path.join(os.path.dirname(os.path.dirname(TORCH_TESTS)), "python")):
    if _path not in sys.path:
        sys.path.insert(0, _path)

PATIENCE_S = 120


@dataclasses.dataclass(frozen=True)
class Settings:
    """One run. `fault_step`: from which step on the fault is there, of those that begin at a step."""

    program: str
    variant: str = ""
    fault: str = ""
    optimizer: str = ""
    seed: int = 0
    steps: int = 12
    every: int = 1
    fault_step: int = 6

    @property
    def script(self):
        """What two runs of one script have in common."""
        return "/".join(part for part in (self.program, self.variant, self.optimizer) if part)

    @property
    def label(self):
        return f"{self.script} {self.fault or 'healthy'} seed {self.seed} steps {self.steps} every {self.every}"


class Unmonitored:
    """Stands in for the monitor in a run without one."""

    def loss(self, value):
        return value


class Run:
    """What a program is told, and where it leaves its results."""

    def __init__(self, settings, rank, directory, on_alarm=None):
        module = importlib.import_module(settings.program)
        self.settings, self.rank, self.world = settings, rank, module.RANKS
        self.directory, self.on_alarm = directory, on_alarm
        self.default_optimizer = module.OPTIMIZER
        self.losses, self.digest, self.step_times = [], "", []

    @property
    def steps(self):
        return self.settings.steps

    @property
    def seed(self):
        return self.settings.seed

    def faulty(self, name, step=None):
        """Whether this fault is to be there, and from `fault_step` on if a step is given."""
        return self.settings.fault == name and (step is None or step >= self.settings.fault_step)

    def strikes(self, name, step):
        """Whether this is the one step of a fault that happens once."""
        return self.settings.fault == name and step == self.settings.fault_step

    def varied(self, *names):
        return self.settings.variant in names

    def data_seed(self, rank=None):
        return 1000 * (self.seed + 1) + (self.rank if rank is None else rank)

    def optimizer(self, parameters, lr=None, **options):
        """The optimizer of the settings: a name, with `_foreach` or `_fused` at its end for that implementation."""
        name, _, implementation = (self.settings.optimizer or self.default_optimizer).partition("_")
        if implementation:
            options[implementation] = True
        if name in ("sgd", "nesterov"):
            return torch.optim.SGD(parameters, lr=lr or 0.05, momentum=0.9, nesterov=name == "nesterov", **options)
        maker = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
        return maker(parameters, lr=lr or 2e-3, **options)

    def monitor(self, model, optimizer):
        """A context with the monitor, or with what stands in for it."""
        if self.directory is None:
            return contextlib.nullcontext(Unmonitored())
        from planproof.torch import monitor
        return monitor(model, optimizer, self.directory, every=self.settings.every, on_alarm=self.on_alarm)

    def note(self, loss):
        self.losses.append(float(loss.detach()))

    def finish(self, *models):
        """The parameters that the run ended with."""
        digest = hashlib.sha256()
        for model in models:
            for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
                local = getattr(tensor, "_local_tensor", tensor).detach().contiguous()
                digest.update(name.encode())
                digest.update(local.reshape(-1).view(torch.uint8).numpy().tobytes())
        self.digest = digest.hexdigest()


@dataclasses.dataclass
class Outcome:
    """What the ranks of a run left: per rank the losses and a digest of the parameters, or the error of the first that failed."""

    settings: Settings
    directory: str
    losses: list
    digests: list
    seconds: float
    error: str = ""


def _rank(settings, rank, directory, scratch, on_alarm):
    torch.set_num_threads(1)
    log = open(os.path.join(scratch, f"rank{rank}.log"), "w", buffering=1)
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    try:
        run = Run(settings, rank, directory, on_alarm)
        if run.world > 1:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(run.world))
            dist.init_process_group("gloo", init_method=f"file://{scratch}/store", rank=rank, world_size=run.world,
                                    timeout=timedelta(seconds=PATIENCE_S))
        importlib.import_module(settings.program).train(run)
        with open(os.path.join(scratch, f"rank{rank}.json"), "w") as file:
            json.dump({"losses": run.losses, "digest": run.digest}, file)
        if run.world > 1:
            dist.barrier()
            dist.destroy_process_group()
    except BaseException:
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    log.flush()
    os._exit(0)


def prepare():
    """Imports here what the processes need, so that each of them does not."""
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
    for name in ("distributed.fsdp", "distributed.tensor.parallel", "optim.swa_utils", "utils.checkpoint"):
        importlib.import_module(f"torch.{name}")


def execute(settings, scratch, monitored=True, on_alarm=None):
    """Runs all ranks; the journal is `scratch`/journal, printed lines are in `scratch`/rankN.log."""
    prepare()
    os.makedirs(scratch)
    directory = os.path.join(scratch, "journal") if monitored else None
    ranks = importlib.import_module(settings.program).RANKS
    start = time.monotonic()
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_rank, args=(settings, rank, directory, scratch, on_alarm)) for rank in range(ranks)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(0.1, start + PATIENCE_S - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
    outcome = Outcome(settings, directory, [], [], time.monotonic() - start)
    for rank, process in enumerate(processes):
        path = os.path.join(scratch, f"rank{rank}.json")
        if process.exitcode or not os.path.exists(path):
            with open(os.path.join(scratch, f"rank{rank}.log")) as file:
                outcome.error = outcome.error or f"rank {rank}: exit {process.exitcode}: {file.read()[-1500:]}"
            continue
        with open(path) as file:
            left = json.load(file)
        outcome.losses.append(left["losses"])
        outcome.digests.append(left["digest"])
    return outcome
