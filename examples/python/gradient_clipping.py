"""Clipping by the global norm over two pipeline stages with two tensor-parallel ranks each: shards
are squared and added over tp, replicated parameters count once, stages add their sums."""
import planproof


def clip(graph, square, grads):
    """The global norm from its square, and a step of SGD with clipped gradients."""
    norm = graph.sqrt(square, out="norm")
    coefficient = graph.clamp(1.0 / (norm + 1e-6), max=1.0)
    return [graph.sgd(weight, graph.mul(grad, coefficient), lr=0.1, out=f"{weight}.new")
            for weight, grad in grads.items()]


model = planproof.Specification()
x, t = model.inputs(x=[8, 12], t=[8, 12])
weights = scale, w1, w2 = model.parameters(scale=[12], w1=[24, 12], w2=[12, 24])
y = model.linear(model.silu(model.linear(x * scale, w1)), w2)
loss = model.mse_loss(y, t, reduction="sum", out="loss")
grads = model.gradients(loss, weights)
squares = [model.grad_norm(grad) for grad in grads]
news = clip(model, squares[0] + squares[1] + squares[2], dict(zip(weights, grads)))
for weight, new in zip(weights, news):
    model.update(weight, new)
model.outputs({"norm": {}})

plan = planproof.Plan(model, mesh={"pp": 2, "tp": 2})
p, q = plan.program("stage0", {"pp": 0}), plan.program("stage1", {"pp": 1})
x, scale, w1 = p.inputs(x={}, scale={}, w1={0: "tp"})
t, w2 = q.inputs(t={}, w2={1: "tp"})
n = x * scale
a_part = p.silu(p.linear(n, w1))
own = q.chunk(q.move(p.all_gather(a_part, over="tp", dim=1, out="a")), over="tp", dim=1)
y_part = q.linear(own, w2)
y = q.all_reduce(y_part, over="tp")
loss = q.mse_loss(y, t, reduction="sum", out="loss")
grad_y = q.backward(loss, q.input("grad.loss"), [y])
grad_own, grad_w2 = q.backward(y_part, grad_y, [own, w2])
grad_a = p.move(q.all_gather(grad_own, over="tp", dim=1, out="grad.a"))
grad_n, grad_w1 = p.gradients(a_part, p.chunk(grad_a, over="tp", dim=1), [n, w1])
grad_scale = p.backward(n, p.all_reduce(grad_n, over="tp"), [scale])
shards, square2 = (g.all_reduce(g.grad_norm(w), over="tp") for g, w in ((p, grad_w1), (q, grad_w2)))
totals = plan.all_reduce([shards + p.grad_norm(grad_scale), square2])
clip(p, totals[0], {scale: grad_scale, w1: grad_w1})
clip(q, totals[1], {w2: grad_w2})

if __name__ == "__main__":
    print(planproof.verify(plan))
