"""Adafactor on a weight cut by rows over four ranks: row factors are local, column factors, the
mean of the row factors and both root mean squares are averaged over the ranks."""
import planproof

OPERATORS = """
## Second moments in factors, and the update they give. Source: Shazeer and Stern, arXiv:1804.04235.
op row_mean_square(g[n, k]) {eps: real = 1e-30} -> r[n] = mean(k: g[n, k] ^ 2 + eps)
op column_mean_square(g[n, k]) {eps: real = 1e-30} -> c[k] = mean(n: g[n, k] ^ 2 + eps)
op moving_average(old, new) {beta: real = 0.999} -> z = beta * old + (1 - beta) * new
op factored_update(g[n, k], r[n], c[k], r_mean[1])
  -> u[n, k] = g[n, k] * rsqrt(r[n] / r_mean[0]) * rsqrt(c[k])
op mean_square(u[n, k]) -> m[1] = mean(n, k: u[n, k] ^ 2)
## Clipping by d = 1, and a step relative to the parameter's root mean square.
op adafactor_step(p[n, k], u[n, k], u_square[1], p_square[1]) {lr: real = 0.01, eps: real = 1e-3}
  ties none
  -> p1[n, k] = p[n, k] - lr * max(sqrt(p_square[0]), eps) * u[n, k] / max(sqrt(u_square[0]), 1)
"""


def adafactor(graph, w, g, r, c, over_ranks):
    """A step; `over_ranks` makes the mean of a rank's rows that of all rows."""
    r = graph.moving_average(r, graph.row_mean_square(g), out="r.new")
    c = graph.moving_average(c, over_ranks(graph.column_mean_square(g)), out="c.new")
    u = graph.factored_update(g, r, c, over_ranks(graph.mean(r)), out="u")
    u_square, w_square = (over_ranks(graph.mean_square(tensor)) for tensor in (u, w))
    return graph.adafactor_step(w, u, u_square, w_square, out="w.new")


model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[12, 8], t=[12, 16])
w = model.parameter("w", [16, 8])
r, c = (model.buffer(name, [n], premise="nonnegative") for name, n in (("r", 16), ("c", 8)))
loss = model.mse_loss(model.linear(x, w), t, reduction="sum", out="loss")
grad_w, = model.gradients(loss, [w])
model.update(w, adafactor(model, w, grad_w, r, c, lambda mean: mean))
model.outputs({"r.new": {0: "tp"}, "c.new": {}})

plan = planproof.Plan(model, mesh={"tp": 4})
p = plan.program()
x, t, w, r, c = p.inputs(x={}, t={1: "tp"}, w={0: "tp"}, r={0: "tp"}, c={})
y = p.linear(x, w)
loss = p.mse_loss(y, t, reduction="sum", out="loss")
grad_y = p.backward(loss, p.input("grad.loss"), [y])
grad_w = p.backward(y, grad_y, {w: "grad.w"})
adafactor(p, w, grad_w, r, c, lambda mean: p.all_reduce(mean, over="tp", reduce="avg"))

if __name__ == "__main__":
    print(planproof.verify(plan))
