"""A convolutional net with the rows of the image cut over sp and the batch over dp: rows of the
neighbours are exchanged before each convolution, batch norm is synchronised."""
import planproof

CASES = [dict(layers=layers, ranks=ranks) for layers, ranks in ((1, 2), (2, 2), (2, 4), (4, 2))]
FAULT = "the row before the last one is sent down"
FAULTY, NAMES = [dict(layers=1)], "start of narrow (narrow.1) is 6; with 7 it would be right"
BATCH, CHANNELS, HEIGHT, COLUMNS = 4, 2, 16, 4
OPERATORS = """
## The second half of the statistics, from the mean, as SyncBatchNorm reduces them.
op channel_variance(x[n, c, h, w], center[c])
  -> v[c] = mean(n, h, w: (x[n, c, h, w] - center[c]) ^ 2)
"""


def plan(layers=2, ranks=2, fault=False):
    shape = [BATCH, CHANNELS, HEIGHT, COLUMNS]
    model = planproof.Specification()
    model.declare(OPERATORS)
    y, t = model.inputs(x=shape, t=shape)
    weights = []
    for layer in range(layers):
        k, gamma, beta = new = model.parameters({
            f"k.{layer}": [CHANNELS, CHANNELS, 3, 3], f"gamma.{layer}": [CHANNELS], f"beta.{layer}": [CHANNELS]})
        h = model.conv2d(y, k, padding=1)
        y = model.relu(model.batch_norm(h, None, None, gamma, beta, training=True))
        weights += new
    loss = model.mse_loss(y, t, out="loss")
    model.gradients(loss, weights)
    model.outputs({loss: {}, **{f"grad.{weight}": {} for weight in weights}})

    whole = planproof.Plan(model, mesh={"dp": 2, "sp": ranks})
    p = whole.program()
    y, t = p.inputs(x={0: "dp", 2: "sp"}, t={0: "dp", 2: "sp"})
    rows = HEIGHT // ranks
    down = [[r, r + 1] for r in range(ranks - 1)]
    up = [[r + 1, r] for r in range(ranks - 1)]

    def mean(tensor, **out):
        return p.all_reduce(tensor, over=["dp", "sp"], reduce="avg", **out)

    tape = []
    for layer in range(layers):
        x, (k, gamma, beta) = y, p.inputs({f"{name}.{layer}": {} for name in ("k", "gamma", "beta")})
        last = p.narrow(x, dim=2, start=rows - (2 if fault else 1), length=1)
        first = p.narrow(x, dim=2, start=0, length=1)
        above, below = p.permute(last, "sp", pairs=down), p.permute(first, "sp", pairs=up)
        halo = p.cat(above, x, below, dim=2)
        h = p.conv2d(halo, k, padding=[0, 1])
        center_local = p.mean(h, dim=[0, 2, 3])
        center = mean(center_local)
        variance_local = p.channel_variance(h, center)
        variance = mean(variance_local)
        b = p.batch_norm(h, center, variance, gamma, beta)
        y = p.relu(b)
        tape.append((x, last, first, above, below, halo, h, center_local, center, variance_local, variance, b, y))
    local = p.mse_loss(y, t)
    mean(local, out="loss")
    grad = p.backward(local, p.input("grad.loss"), [y])
    for layer in reversed(range(layers)):
        x, last, first, above, below, halo, h, center_local, center, variance_local, variance, b, y = tape[layer]
        k, gamma, beta = (p.tensor(f"{name}.{layer}") for name in ("k", "gamma", "beta"))
        grad_b = p.backward(y, grad, [b])
        norm = p.backward(b, grad_b, [h, center, variance, gamma, beta])
        of_variance = p.backward(variance_local, mean(norm[2]), [h, center])
        of_center = p.backward(center_local, mean(norm[1] + of_variance[1]), [h])
        grad_halo, d_k = p.backward(h, norm[0] + of_variance[0] + of_center, [halo, k])
        for weight, d in ((k, d_k), (gamma, norm[3]), (beta, norm[4])):
            mean(d, out=f"grad.{weight}")
        if layer:
            of_above, grad, of_below = p.backward(halo, grad_halo, [above, x, below])
            grad = grad + p.backward(last, p.permute(of_above, "sp", pairs=up), [x])
            grad = grad + p.backward(first, p.permute(of_below, "sp", pairs=down), [x])
    return whole

