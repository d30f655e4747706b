"""A checkpoint, the parameters that a rank loads from it, and the parts of a batch that samplers give to ranks."""
import torch
import torch.distributed as dist
from planproof.torch.relations import local, part, reduced, segments_of
from torch import nn

from by_hand import rows

WIDTH, HIDDEN = 8, 16


def checkpoint(model, seed=7):
    """Weights by name, as a file has them: other ones than the model is made with."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(value.shape, generator=generator) * 0.4 for name, value in model.state_dict().items()}


class Loaded:
    """A rank's model while it is filled: `hold` puts a tensor in the place of a parameter, and remembers which part of
    the whole it is said to be."""

    def __init__(self, model):
        self.model, self.parts = model, {}

    def hold(self, name, value, part_=None):
        module, _, leaf = name.rpartition(".")
        setattr(self.model.get_submodule(module), leaf, nn.Parameter(value.detach().clone()))
        if part_ is not None:
            self.parts[name] = part_

    def hold_part(self, name, whole, part_):
        """The parameter is a part of this whole, cut as it should be."""
        self.hold(name, part_.of_whole(whole), part_)


def packed(of, pieces, rank, ranks):
    """Of each of so many equal pieces of dimension 0 the rank's share, one after the other."""
    length = of[0] // pieces
    own = length // ranks
    return rows(of, 0, [[piece * length + rank * own, own] for piece in range(pieces)])


def load_shards(model, cut):
    """Fills the local tensors of a model's DTensors: `cut(name, whole, local)` gives what this rank loads."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            local = parameter.to_local()
            local.copy_(cut(name, local))


def dataset(size=16, width=WIDTH):
    """Samples and targets, the same on each rank."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(size, width, generator=generator), torch.randn(size, width, generator=generator)


def rows_of_batch(data, read, said, size):
    """What a rank reads of the data, named as the rows of a batch of this size that it should have read."""
    x, y = (each[read].clone() for each in data)
    place = [segments_of(said), [[0, WIDTH]]]
    return x, y, {"x": part(x, (size, WIDTH), place), "y": part(y, (size, WIDTH), place)}


def average_gradients(model, group=None):
    for parameter in model.parameters():
        if parameter.grad is not None:
            gradient = local(parameter.grad)
            dist.all_reduce(gradient, group=group)
            gradient /= dist.get_world_size(group)


def averaged(loss, mesh, axis="dp"):
    """The loss as an output: the reference's is the mean of the ranks' along the axis."""
    return {"loss": loss if mesh is None else reduced(loss, "avg", dist.get_process_group_ranks(mesh.get_group(axis)))}
