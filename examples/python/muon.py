"""Muon on a weight cut by columns over tp, gradients averaged over dp: Nesterov momentum, Frobenius
norm and Gram matrices summed over tp, five Newton-Schulz steps."""
import planproof

OPERATORS = """
## One Newton-Schulz step x -> a x + (b g + c g^2) x with g = x x^T, whose Gram matrix is given.
op gram(x[m, n]) -> g[m, k:extent(m)] = sum(n: x[m, n] * x[k, n])
op newton_schulz(x[m, n], g[m, k]) {a: real = 3.4445, b: real = -4.775, c: real = 2.0315}
  let polynomial[i, j] = b * g[i, j] + c * sum(l: g[i, l] * g[l, j])
  -> y[m, n] = a * x[m, n] + sum(k: polynomial[m, k] * x[k, n])
op nesterov(g, momentum) {beta: real = 0.95} -> u = g + beta * momentum
op momentum_step(momentum, g) {beta: real = 0.95} -> z = beta * momentum + g
op normalize(x[m, n], square[1]) {eps: real = 1e-7} -> y[m, n] = x[m, n] / (sqrt(square[0]) + eps)
"""


def muon(graph, w, g, momentum, over_ranks):
    """A step; `over_ranks` adds what is a sum over columns."""
    momentum = graph.momentum_step(momentum, g, out="momentum.new")
    u = graph.nesterov(g, momentum)
    x = graph.normalize(u, over_ranks(graph.grad_norm(u)))
    for step in range(1, 6):
        x = graph.newton_schulz(x, over_ranks(graph.gram(x)), out=f"x{step}")
    return graph.sgd(w, x, lr=0.02, out="w.new")


model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[8, 12], t=[8, 6])
w, momentum = model.parameter("w", [6, 12]), model.buffer("momentum", [6, 12])
loss = model.mse_loss(model.linear(x, w), t, out="loss")
grad_w, = model.gradients(loss, [w])
model.update(w, muon(model, w, grad_w, momentum, lambda total: total))
model.outputs({"momentum.new": {1: "tp"}})

plan = planproof.Plan(model, mesh={"dp": 2, "tp": 2})
p = plan.program()
columns = {1: "tp"}
x, t, w, momentum = p.inputs(x={0: "dp", 1: "tp"}, t={0: "dp"}, w=columns, momentum=columns)
y_part = p.linear(x, w)
y = p.all_reduce(y_part, over="tp")
local = p.mse_loss(y, t)
grad_y = p.backward(local, p.input("grad.loss"), [y])
d_w = p.backward(y_part, grad_y, [w])
grad_w = p.all_reduce(d_w, over="dp", reduce="avg", out="grad.w")
muon(p, w, grad_w, momentum, lambda total: p.all_reduce(total, over="tp"))

if __name__ == "__main__":
    print(planproof.verify(plan))
