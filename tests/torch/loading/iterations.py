"""Iterations that programs of this directory share: a squared error, with gradients averaged over data parallel ranks."""
from torch.nn import functional

from by_hand import training
from checkpoint import averaged, average_gradients, dataset, rows_of_batch


def whole_batch(model, parts=None, size=4, width=None):
    """Every rank reads the whole batch."""
    x, y = (each[:size].clone() for each in (dataset(size) if width is None else dataset(size, width)))

    def step():
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return {"loss": loss}

    return training(model, {"x": x, "y": y}, step, parts)


def one_sequence(model, parts=None, length=6, width=16):
    """The same, of a batch that is one sequence."""
    return whole_batch(model, parts, length, width)


def data_parallel(model, mesh, read=None, said=None, data=None, size=8, parts=None, by_hand=True):
    """Each rank reads rows of the data (`read`) that are said to be others (`said`); its half of the batch if neither is given.
    `by_hand`: gradients are averaged here, and not by a wrapper of the model."""
    data = data or dataset()
    if mesh is None:
        read = said = list(range(size)) if said is None else said
    elif read is None:
        rank, ranks = mesh["dp"].get_local_rank(), mesh["dp"].size()
        read = said = list(range(size))[rank * size // ranks:(rank + 1) * size // ranks]
    x, y, inputs = rows_of_batch(data, read, said, size)

    def step():
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        if mesh is not None and by_hand:
            average_gradients(model, mesh.get_group("dp"))
        return averaged(loss, mesh)

    return training(model, inputs, step, parts)
