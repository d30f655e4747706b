"""A cumulative sum, and the recurrence of a state-space model, h[t] = exp(g[t]) h[t-1] + u[t], with
time cut over the ranks: each scans its own part and adds what the ranks before it hand on. As in
Mamba-2, decays are differences of cumulative sums of the gates."""
import planproof

CASES = [dict(kind=kind, ranks=ranks) for kind in ("cumsum", "state_space") for ranks in (2, 4, 8)]
FAULT = "what the ranks before hand on includes the rank's own part"
FAULTY = [dict(kind="cumsum"), dict(kind="state_space")]
NAMES = "with sp it would be right"
BATCH, TIME, WIDTH = 2, 32, 4
OPERATORS = """
## What comes before part `first` of a sum.
op sum_before(last[p, b, d]) {first = 0} -> state[b, d] = sum(p: where(p < first, last[p, b, d], 0))
## h[t] = sum of inputs up to t, decayed; `gates` are cumulative sums.
op scan(gates[b, t, d], u[b, t, d])
  -> h[b, t, d] = sum(j: where(j <= t, u[b, j, d] * exp(gates[b, t, d] - gates[b, j, d]), 0))
## The state at the end of the parts before `first`, as it is seen when the gates are at 0.
op state_before(last[p, b, d], end[p, b, d]) {first = 0}
  -> state[b, d] = sum(p: where(p < first, last[p, b, d] * exp(-end[p, b, d]), 0))
## What is added to a part.
op carry(state[b, d], gates[b, t, d]) -> h[b, t, d] = state[b, d] * exp(gates[b, t, d])
"""


def plan(kind="cumsum", ranks=2, fault=False):
    gated = kind == "state_space"
    shape, part = [BATCH, TIME, WIDTH], {1: "sp"}
    model = planproof.Specification()
    model.declare(OPERATORS)
    x, t = model.inputs(x=shape, t=shape)
    weights = model.parameters(wu=[WIDTH, WIDTH], wg=[WIDTH, WIDTH])[:1 + gated]
    u, *g = (model.linear(x, weight) for weight in weights)
    if gated:
        h = model.scan(model.cumsum(*g, dim=1), u, out="h")
    else:
        h = model.cumsum(u, dim=1, out="h")
    model.gradients(model.mse_loss(h, t, reduction="sum", out="loss"), weights)
    model.outputs({h: part, **{f"grad.{weight}": {} for weight in weights}})

    whole = planproof.Plan(model, mesh={"sp": ranks})
    p = whole.program()
    first = "=sp + 1" if fault else "=sp"
    x, t, *weights = p.inputs({"x": part, "t": part, **{str(weight): {} for weight in weights}})

    def ends(tensor):
        """The last elements of all parts, and what their gradient becomes."""
        end = p.select(tensor, dim=1, index=-1)
        return end, p.all_gather(p.unsqueeze(end, dim=0), over="sp", dim=0)

    def back(grad):
        return p.squeeze(p.reduce_scatter(grad, over="sp", dim=0), dim=0)

    class Cumsum:
        """A cumulative sum along time."""

        def __init__(self, tensor, first="=sp", **out):
            self.own = p.cumsum(tensor, dim=1)
            self.end, self.ends = ends(self.own)
            self.before = p.sum_before(self.ends, first=first)
            self.result = p.add(self.own, p.unsqueeze(self.before, dim=1), **out)

        def backward(self, grad, of, out):
            grad_end = back(p.backward(self.before, p.sum(grad, dim=1), [self.ends]))
            p.all_reduce(p.gradients([self.own, self.end], [grad, grad_end], [of]), over="sp", out=out)

    u, *g = (p.linear(x, weight) for weight in weights)
    if not gated:
        total = Cumsum(u, first, out="h")
        grad_h = p.backward(p.mse_loss(total.result, t, reduction="sum"), p.input("grad.loss"), ["h"])
        total.backward(grad_h, weights[0], "grad.wu")
        return whole
    total = Cumsum(*g)
    own = p.scan(total.result, u)
    (last, lasts), (end, gates_ends) = ends(own), ends(total.result)
    state = p.state_before(lasts, gates_ends, first=first)
    carried = p.carry(state, total.result)
    h = p.add(own, carried, out="h")
    grad_h = p.backward(p.mse_loss(h, t, reduction="sum"), p.input("grad.loss"), [h])
    grad_state, grad_gates = p.backward(carried, grad_h, [state, total.result])
    grads = [back(grad) for grad in p.backward(state, grad_state, [lasts, gates_ends])]
    d_wu, grad_gates = p.gradients([own, last, end, total.result], [grad_h, *grads, grad_gates],
                                   [weights[0], total.result])
    p.all_reduce(d_wu, over="sp", out="grad.wu")
    total.backward(grad_gates, weights[1], "grad.wg")
    return whole
