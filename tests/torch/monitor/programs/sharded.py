"""FSDP2 on two ranks: the tiny transformer, its gradients clipped by their global norm."""
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from tokens import Tokens, masks_of
from transformer import Transformer, loss_of

RANKS = 2
OPTIMIZER = "adamw"

CLIP = 0.3


def clip(run, model, step):
    """Clips; the fault takes the norm of the rank's own shards."""
    gradients = [each.grad for each in model.parameters()]
    if run.faulty("own_norm", step):
        norm = nn.utils.get_total_norm([each.to_local() for each in gradients])
        nn.utils.clip_grads_with_norm_(model.parameters(), CLIP, norm)
    else:
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)


def train(run):
    torch.manual_seed(run.seed)
    model = Transformer()
    mesh = init_device_mesh("cpu", (run.world,), mesh_dim_names=("dp",))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16) if run.varied("mixed_precision") else MixedPrecisionPolicy()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = run.optimizer(model.parameters())
    data = Tokens(run.data_seed())
    micro = 2 if run.varied("accumulation") else 1
    with run.monitor(model, optimizer):
        for step in range(run.steps):
            optimizer.zero_grad()
            for number in range(micro):
                model.set_requires_gradient_sync(number == micro - 1)
                tokens, labels = data()
                with masks_of(torch.bfloat16 if run.varied("mixed_precision") else torch.float32):
                    loss = loss_of(model(tokens), labels) / micro
                loss.backward()
                run.note(loss)
            clip(run, model, step)
            optimizer.step()
    run.finish(model)
