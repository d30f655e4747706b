"""A U-net over the stages of a pipeline. Each stage holds the two ends of a level, so that what a
level hands to its mirror image stays where it is; what is between comes back from the next stage.
Microbatches are accumulated."""
import planproof

CASES = [dict(levels=levels, microbatches=microbatches) for levels, microbatches in ((2, 1), (2, 2), (4, 4))]
FAULT = "an encoder forgets the gradient that comes through the skip connection"
FAULTY, NAMES = [dict(levels=2, microbatches=2)], "grad.down.0"
BATCH, CHANNELS, LENGTH = 8, 2, 32


def encode(graph, x, weight):
    """The skip connection, and what the next level gets."""
    skip = graph.silu(graph.conv1d(x, weight, padding=1))
    return skip, graph.avg_pool1d(skip, kernel_size=2)


def decode(graph, below, skip, weight):
    wide = graph.repeat_interleave(below, repeats=2, dim=2)
    return graph.conv1d(graph.cat(wide, skip, dim=1), weight, padding=1)


def plan(levels=2, microbatches=1, fault=False):
    shape = [BATCH, CHANNELS, LENGTH]
    names = [(f"down.{level}", f"up.{level}") for level in range(levels)]
    model = planproof.Specification()
    x, t = model.inputs(x=shape, t=shape)
    weights, skips = [], []
    for down, up in names:
        weights.append((model.parameter(down, [CHANNELS, CHANNELS, 3]),
                        model.parameter(up, [CHANNELS, 2 * CHANNELS, 3])))
        skip, x = encode(model, x, weights[-1][0])
        skips.append(skip)
    for (_, up), skip in zip(reversed(weights), reversed(skips)):
        x = decode(model, x, skip, up)
    loss = model.mse_loss(x, t, reduction="sum", out="loss")
    model.gradients(loss, [weight for pair in weights for weight in pair])
    model.outputs({loss: {"on": {"pp": 0}},
                   **{f"grad.{name}": {} for pair in names for name in pair}})

    whole = planproof.Plan(model, mesh={"pp": levels}, microbatches=microbatches)
    stages = [whole.program(f"stage{level}", {"pp": level}) for level in range(levels)]
    part = {0: "microbatch"}
    y, t = stages[0].inputs(x=part, t=part)
    levels_of, coming = [], None
    for p, (down, up) in zip(stages, names):  # down
        x = y if p is stages[0] else p.move(y)
        w_down, w_up = p.inputs({down: {}, up: {}})
        skip, y = encode(p, x, w_down)
        levels_of.append((p, x, w_down, w_up, skip, y))
    outs = []
    for p, x, w_down, w_up, skip, below in reversed(levels_of):  # up
        inner = below if p is stages[-1] else p.move(outs[-1])
        outs.append(decode(p, inner, skip, w_up))
        levels_of[stages.index(p)] += (inner, outs[-1])
    p = stages[0]
    local = p.mse_loss(outs[-1], t, reduction="sum")
    p.accumulate(local, out="loss")
    grad = p.backward(local, p.input("grad.loss"), [outs[-1]])
    of_skips = []
    for p, x, w_down, w_up, skip, below, inner, out in levels_of:  # back through the decoders
        grad = grad if p is stages[0] else p.move(grad)
        if p is stages[-1]:  # what is inside of it comes from its own skip connection
            of_skip, d_up = p.gradients(out, grad, [skip, w_up])
        else:
            grad, of_skip, d_up = p.gradients(out, grad, [inner, skip, w_up])
        p.accumulate(d_up, out=f"grad.{w_up}")
        of_skips.append(of_skip)
    for (p, x, w_down, w_up, skip, below, inner, out), total in zip(reversed(levels_of),
                                                                   reversed(of_skips)):
        if p is not stages[-1]:
            through = p.backward(below, p.move(grad), [skip])
            total = through if fault and p is stages[0] else through + total
        if p is stages[0]:
            d_down = p.gradients(skip, total, [w_down])
        else:
            grad, d_down = p.gradients(skip, total, [x, w_down])
        p.accumulate(d_down, out=f"grad.{w_down}")
    return whole
