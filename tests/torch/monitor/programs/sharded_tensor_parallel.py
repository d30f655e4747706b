"""FSDP2 over tensor parallelism on four ranks: the tiny transformer, its gradients clipped by their global norm.

It is `programs/fsdp2_tp_clip.py` of the recorder's tests with data that changes, so that monitors of that proof apply."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tokens import Tokens, masks_of
from transformer import Transformer, loss_of, sequence_parallel

RANKS = 4
OPTIMIZER = "adamw"

CLIP = 0.5


def clip(run, model, step):
    """Clips; the fault adds up squares over all ranks, with replicated parameters' as often as there are copies."""
    if run.faulty("counted_twice", step):
        square = sum(each.grad.to_local().pow(2).sum() for each in model.parameters())
        dist.all_reduce(square)
        nn.utils.clip_grads_with_norm_(model.parameters(), CLIP, square.sqrt())
    elif run.faulty("own_norm", step):
        norm = nn.utils.get_total_norm([each.grad.to_local() for each in model.parameters()])
        nn.utils.clip_grads_with_norm_(model.parameters(), CLIP, norm)
    else:
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)


def train(run):
    torch.manual_seed(run.seed)
    model = Transformer()
    if run.varied("bfloat16"):
        model.to(torch.bfloat16)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    sequence_parallel(model, mesh["tp"])
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = run.optimizer(model.parameters())
    data = Tokens(run.data_seed(mesh["dp"].get_local_rank()))
    with run.monitor(model, optimizer):
        for step in range(run.steps):
            if run.rank == 3 and run.strikes("drift", step):
                with torch.no_grad():
                    model.norm.weight.to_local().mul_(1 + 1e-5)
            optimizer.zero_grad()
            tokens, labels = data()
            with masks_of(torch.bfloat16 if run.varied("bfloat16") else torch.float32):
                loss = loss_of(model(tokens), labels)
            loss.backward()
            clip(run, model, step)
            optimizer.step()
            run.note(loss)
    run.finish(model)

