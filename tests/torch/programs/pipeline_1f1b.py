"""Two stages and four microbatches by Schedule1F1B of torch.distributed.pipelining."""
import torch
from planproof.torch import Training, bounded
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from models import VOCABULARY
from stages import Stage
from transformer import Transformer, batch_of, loss_of, training

MESH = {"pp": 2}
MICROBATCHES = 4


def build(mesh):
    model = Transformer()
    tokens, labels, inputs = batch_of(None, None, MICROBATCHES)
    if mesh is None:
        return training(model, (tokens, labels, inputs))
    rank = mesh.get_local_rank("pp")
    model = Stage(model, rank)
    stage = PipelineStage(model, rank, 2, torch.device("cpu"), group=mesh.get_group())
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(tokens)
        else:
            schedule.step(target=labels, losses=losses)
        optimizer.step()
        return {"loss": torch.stack(losses).mean()} if losses else {}

    name = "tokens" if rank == 0 else "labels"
    data = bounded(tokens if rank == 0 else labels, 0, VOCABULARY)
    return Training(step, model, optimizer, {name: data})
