"""A recurrent net unrolled by a loop: the batch cut over dp, or the hidden state over tp, with the
backward pass through time."""
import planproof

CASES = [dict(steps=steps, cut=cut) for steps in (24, 240) for cut in ("batch", "hidden")]
FAULT = "the gradient of the recurrent weight stays that of the rank"
FAULTY, NAMES = [dict(steps=24), dict(steps=240)], "stage grad.wh: "
BATCH, WIDTH, HIDDEN, RANKS = 8, 4, 8, 2


def step(graph, x, h, wx, wh, b):
    return graph.tanh(graph.linear(x, wx) + graph.linear(h, wh, b))


def specification(steps):
    model = planproof.Specification()
    x, t = model.inputs(x=[BATCH, steps, WIDTH], t=[BATCH, HIDDEN])
    h = model.input("h", [BATCH, HIDDEN])
    weights = model.parameters(wx=[HIDDEN, WIDTH], wh=[HIDDEN, HIDDEN], b=[HIDDEN])
    for i in range(steps):
        h = step(model, model.select(x, dim=1, index=i), h, *weights)
    loss = model.mse_loss(h, t, reduction="sum", out="loss")
    model.gradients(loss, weights)
    rows = {0: "tp"}
    model.outputs({loss: {}, "grad.wx": rows, "grad.wh": rows, "grad.b": rows})
    return model


def plan(steps=24, cut="batch", fault=False):
    axes = {"dp": RANKS, "tp": 1} if cut == "batch" else {"dp": 1, "tp": RANKS}
    whole = planproof.Plan(specification(steps), mesh=axes)
    p = whole.program()
    rows, both = {0: "tp"}, {0: "dp", 1: "tp"}
    x, t, h, wx, wh, b = p.inputs(x={0: "dp"}, t=both, h=both, wx=rows, wh=rows, b=rows)
    tape = []
    for i in range(steps):
        gathered = p.all_gather(h, over="tp", dim=1)
        h = step(p, p.select(x, dim=1, index=i), gathered, wx, wh, b)
        tape.append((h, gathered))
    local = p.mse_loss(h, t, reduction="sum")
    p.all_reduce(local, over=["dp", "tp"], out="loss")
    grad, totals = p.backward(local, p.input("grad.loss"), [h]), None
    for h, gathered in reversed(tape):
        grad_gathered, *terms = p.gradients(h, grad, [gathered, wx, wh, b])
        grad = p.reduce_scatter(grad_gathered, over="tp", dim=1)
        totals = terms if totals is None else [a + more for a, more in zip(totals, terms)]
    for weight, total in zip((wx, wh, b), totals):
        if fault and weight is wh:
            p.identity(total, out=f"grad.{weight}")
        else:
            p.all_reduce(total, over="dp", out=f"grad.{weight}")
    return whole
