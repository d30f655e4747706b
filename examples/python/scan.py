"""A gated linear recurrence (Mamba-2, RetNet) with its sequence cut over four ranks: every rank
scans its own part, then adds what the parts before it hand on."""
import planproof

OPERATORS = """
## h[t] = exp(g[t]) h[t-1] + u[t] within a chunk, from a state of zero: earlier inputs, decayed.
op chunk_scan(g[b, c, t], u[b, c, t, d])
  -> h[b, c, t, d] = sum(j: where(j <= t,
         exp(sum(s: where(j < s and s <= t, g[b, c, s], 0))) * u[b, c, j, d], 0))
## The states before chunks first, first + 1, ..., from the last states and the sums of gates.
op states_before(last[b, p, d], total[b, p]) {first = 0, count: int}
  -> state[b, q:count, d] = sum(p: where(p < q + first,
         last[b, p, d] * exp(sum(r: where(p < r and r < q + first, total[b, r], 0))), 0))
## What a chunk makes of the state before it: decayed by its gates up to t.
op carry(state[b, c, d], g[b, c, t])
  -> h[b, c, t, d] = state[b, c, d] * exp(sum(s: where(s <= t, g[b, c, s], 0)))
"""


def own_scan(graph, x, wg, wu, chunks):
    x = graph.view(x, size=[2, chunks, 4, 4])
    g = graph.squeeze(graph.linear(x, wg), dim=-1)
    h = graph.chunk_scan(g, graph.linear(x, wu))
    return g, h, graph.select(h, dim=2, index=3), graph.sum(g, dim=2)


model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[2, 16, 4], t=[2, 4, 4, 4])
wg, wu = model.parameters(wg=[1, 4], wu=[4, 4])
g, h, last, total = own_scan(model, x, wg, wu, 4)
h = model.add(h, model.carry(model.states_before(last, total, count=4), g), out="h")
model.gradients(model.mse_loss(h, t, reduction="sum", out="loss"), [wg, wu])
model.outputs({h: {1: "sp"}, "grad.wg": {}, "grad.wu": {}})

plan = planproof.Plan(model, mesh={"sp": 4})
p = plan.program()
x, t, wg, wu = p.inputs(x={1: "sp"}, t={1: "sp"}, wg={}, wu={})
g, own, last, total = own_scan(p, x, wg, wu, 1)
lasts, totals = (p.all_gather(part, over="sp", dim=1) for part in (last, total))
states = p.states_before(lasts, totals, count=4)
state = p.chunk(states, over="sp", dim=1)
carried = p.carry(state, g)
h = p.add(own, carried, out="h")
loss = p.mse_loss(h, t, reduction="sum", out="loss")
grad_h = p.backward(loss, p.input("grad.loss"), [h])
grad_state, grad_g = p.backward(carried, grad_h, [state, g])
grads = p.backward(states, p.all_gather(grad_state, over="sp", dim=1), [lasts, totals])
grad_last, grad_total = (p.chunk(grad, over="sp", dim=1) for grad in grads)
grads = [grad_h, grad_last, grad_total, grad_g]
local = p.gradients([own, last, total, g], grads, [wg, wu])
for weight, grad in zip((wg, wu), local):
    p.all_reduce(grad, over="sp", out=f"grad.{weight}")

if __name__ == "__main__":
    print(planproof.verify(plan))
