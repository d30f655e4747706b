"""The monitored programs of `programs/` as iterations that are recorded and proved, so that monitors of these proofs are judged.

An iteration has the models, the way in which ranks share the work, the clipping and the optimizer of its program, and a batch that the
reference has as a whole. Dropout is left out: draws of ranks and of the reference differ."""
import glob
import os
import subprocess
import sys

import torch
from torch import nn
from torch.nn import functional

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_TESTS = os.path.dirname(HERE)
for _path in (os.path.join(HERE, "programs"), os.path.join(TORCH_TESTS, "programs"), HERE,
              os.path.join(os.path.dirname(os.path.dirname(TORCH_TESTS)), "python")):
    if _path not in sys.path:
        sys.path.insert(0, _path)

from planproof.torch import Training, bounded, launch, shard  # noqa: E402

LEARNING_RATE = 2e-3


def part_of(mesh, axis, tensors, bounds):
    """This rank's rows of each tensor, and as what they are known."""
    ranks, rank = (1, 0) if mesh is None else (mesh[axis].size(), mesh[axis].get_local_rank())
    parts = {name: each.chunk(ranks)[rank].clone() for name, each in tensors.items()}
    known = {name: each if mesh is None else shard(each, 0, rank, ranks) for name, each in parts.items()}
    return parts, {name: bounded(each, 0, bounds[name]) if name in bounds else each for name, each in known.items()}


def iteration(model, inputs, loss_of, clip):
    """Backward, clipping by the norm of all gradients, a step of AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

    def step():
        optimizer.zero_grad()
        loss_of(model).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    return Training(step, model, optimizer, inputs)


def language_model(mesh):
    import language_model as program
    torch.manual_seed(0)
    model = program.LanguageModel()
    for block in model.blocks:
        block.dropout.p = 0.0
    tokens, labels = program.Text(1)(2)
    inputs = {"tokens": bounded(tokens, 0, program.VOCABULARY), "labels": bounded(labels, 0, program.VOCABULARY)}

    def loss_of(model):
        return functional.cross_entropy(model(tokens).view(-1, program.VOCABULARY), labels.view(-1))

    return iteration(model, inputs, loss_of, program.CLIP)


def replicated(mesh):
    import replicated as program
    model = program.network()
    generator = torch.Generator().manual_seed(1)
    whole = {"x": torch.randn(4, program.WIDTH, generator=generator),
             "labels": torch.randint(program.CLASSES, (4,), generator=generator)}
    parts, inputs = part_of(mesh, "dp", whole, {"labels": program.CLASSES})
    if mesh is not None:
        model = nn.parallel.DistributedDataParallel(model)
    return iteration(model, inputs, lambda model: functional.cross_entropy(model(parts["x"]), parts["labels"]), program.CLIP)


def transformer_inputs(mesh):
    from models import VOCABULARY
    from tokens import Tokens
    tokens, labels = Tokens(1)()
    return part_of(mesh, "dp", {"tokens": tokens, "labels": labels}, {"tokens": VOCABULARY, "labels": VOCABULARY})


def transformer_iteration(mesh, model, clip):
    from transformer import loss_of
    parts, inputs = transformer_inputs(mesh)
    return iteration(model, inputs, lambda model: loss_of(model(parts["tokens"]), parts["labels"]), clip)


def fully_sharded(model, mesh):
    from torch.distributed.fsdp import fully_shard
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def sharded(mesh):
    import sharded as program
    model = program.Transformer()
    if mesh is not None:
        fully_sharded(model, mesh["dp"])
    return transformer_iteration(mesh, model, program.CLIP)


def sharded_tensor_parallel(mesh):
    import sharded_tensor_parallel as program
    from transformer import sequence_parallel
    model = program.Transformer()
    if mesh is not None:
        sequence_parallel(model, mesh["tp"])
        fully_sharded(model, mesh["dp"])
    return transformer_iteration(mesh, model, program.CLIP)


#: By program: its iteration and mesh.
PROVED = {"language_model": (language_model, {"dp": 1}), "replicated": (replicated, {"dp": 2}), "sharded": (sharded, {"dp": 2}),
          "sharded_tensor_parallel": (sharded_tensor_parallel, {"dp": 2, "tp": 2})}


#: Variants that are other programs than what was proved, and why.
OTHER_PROGRAMS = {("sharded", "mixed_precision"): "its collectives have another type"}


def runs_what_is_proved(settings):
    """Whether what was proved of a program is to hold of this run, which may be faulty."""
    return settings.program in PROVED and (settings.program, settings.variant) not in OTHER_PROGRAMS


def monitors_of(program, directory, binary):
    """The file of monitors of a program, exported into `directory` unless it is there; None of a program that is not proved."""
    if program not in PROVED:
        return None
    path = os.path.join(directory, f"{program}.monitors.json")
    if not os.path.exists(path):
        traces = os.path.join(directory, f"{program}.traces")
        build, mesh = PROVED[program]
        launch(build, mesh, traces, start_method="fork")
        files = [os.path.join(traces, "reference.trace"), *sorted(glob.glob(os.path.join(traces, "rank*.trace")))]
        done = subprocess.run([binary, "verify", "-q", "--no-cache", *files, "--monitors-out", path], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")
    return path


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.makedirs(sys.argv[1], exist_ok=True)
    for each in sys.argv[2:] or PROVED:
        print(monitors_of(each, sys.argv[1], os.environ.get("PLANPROOF_BINARY", "planproof")))
