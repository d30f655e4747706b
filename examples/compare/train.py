"""One iteration of a small Megatron-like model on four processes (gloo), and of the same model in one.

    python train.py --out DIRECTORY [--bug TT1] [--dtype bfloat16] [--seed 0] [--optimizer adam] [--zero] [--inputs]

writes DIRECTORY/reference and DIRECTORY/candidate, for

    planproof compare --reference DIRECTORY/reference --candidate DIRECTORY/candidate --annotations annotations.yaml

Two ranks are data parallel (dp), two tensor and sequence parallel (tp). Bugs are those of public frameworks:
TT1 inverts the mask of the embedding; TT6 and TT12 leave gradients of the router, and of norms, unsynchronized over tp;
TT4 divides the loss by dp, although gradients are averaged; TT7 adds up terms over the wrong group; TT9 (with --zero,
where each data-parallel rank updates some parameters) does not send what was updated to the others.
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.nn import functional

import planproof.torch
from parallel_layers import Model

DP, TP = 2, 2
SEQUENCE, BATCH, VOCABULARY = 16, 8, 64
BUGS = ["TT1", "TT4", "TT6", "TT7", "TT9", "TT12"]


def batch_of(seed):
    generator = torch.Generator().manual_seed(1000 + seed)
    return torch.randint(0, VOCABULARY, (2, SEQUENCE, BATCH), generator=generator)


def loss_of(model, ids, targets):
    return functional.cross_entropy(model(ids).float().flatten(0, 1), targets.flatten())


def optimizer_of(parameters, options):
    if options.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=1e-2)
    return torch.optim.SGD(parameters, lr=0.1)


def reference(options):
    torch.manual_seed(options.seed)
    model = Model().to(options.dtype)
    optimizer = optimizer_of(model.parameters(), options)
    ids, targets = batch_of(options.seed)

    def step():
        loss_of(model, ids, targets).backward()
        optimizer.step()
        optimizer.zero_grad()

    planproof.torch.dump_reference(os.path.join(options.out, "reference"), step, model, optimizer,
                                   inputs=options.inputs)


def synchronize(model, tp, dp, bug):
    """Sums over the parts of the sequence, means over the parts of the batch."""
    for name, parameter in model.of_sequence_parts():
        if (bug == "TT6" and "router" in name) or (bug == "TT12" and "norm" in name):
            continue
        dist.all_reduce(parameter.grad, group=tp)
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=dp)
        parameter.grad /= DP


class ShardedOptimizer:
    """ZeRO 1: each data-parallel rank has the states of some parameters, updates these, and sends them to the others."""

    def __init__(self, model, dp, options):
        self.parameters, self.dp, self.bug = list(model.parameters()), dp, options.bug
        self.inner = optimizer_of(self.parameters[dist.get_rank(dp)::DP], options)

    def step(self):
        self.inner.step()
        for number, parameter in enumerate(self.parameters):
            if self.bug != "TT9":
                dist.broadcast(parameter.data, dist.get_global_rank(self.dp, number % DP), group=self.dp)

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None


def candidate(rank, port, options):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=DP * TP)
    mesh = dist.device_mesh.init_device_mesh("cpu", (DP, TP), mesh_dim_names=("dp", "tp"))
    tp, dp = mesh["tp"].get_group(), mesh["dp"].get_group()
    torch.manual_seed(options.seed)
    model = Model(tp, options.bug, reduce_group=dp if options.bug == "TT7" else tp).to(options.dtype)
    optimizer = ShardedOptimizer(model, dp, options) if options.zero else optimizer_of(model.parameters(), options)
    ids, targets = (each.chunk(DP, 1)[mesh["dp"].get_local_rank()] for each in batch_of(options.seed))

    with planproof.torch.dump(os.path.join(options.out, "candidate"), model, optimizer, mesh=mesh,
                              inputs=options.inputs, stage_inputs=options.stage_inputs):
        loss = loss_of(model, ids, targets)
        (loss / DP if options.bug == "TT4" else loss).backward()
        synchronize(model, tp, dp, options.bug)
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--bug", choices=BUGS)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--zero", action="store_true", help="optimizer states divided over dp")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", action="store_true", help="dump the inputs of modules, too")
    parser.add_argument("--stage-inputs", help="what planproof compare --stage-inputs wrote")
    options = parser.parse_args()
    options.dtype = getattr(torch, options.dtype)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reference(options)
    multiprocessing.start_processes(candidate, (port, options), DP * TP, start_method="fork")


if __name__ == "__main__":
    main()
