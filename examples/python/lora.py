"""LoRA on a tensor-parallel MLP: frozen base weights; the first adapter's B is cut by rows like its
base, the second adapter's A by columns."""
import planproof

model = planproof.Specification()
x, t = model.inputs(x=[8, 12], t=[8, 12])
w1, w2 = model.parameters(w1=[24, 12], w2=[12, 24])
adapters = model.parameters(a1=[4, 12], b1=[24, 4], a2=[4, 24], b2=[12, 4])
a1, b1, a2, b2 = adapters
h = model.add(model.linear(x, w1), model.linear(model.linear(x, a1), b1), alpha=2)
act = model.silu(h)
y = model.add(model.linear(act, w2), model.linear(model.linear(act, a2), b2), alpha=2)
loss = model.mse_loss(y, t, reduction="sum", out="loss")
model.gradients(loss, adapters)
rows, columns = {0: "tp"}, {1: "tp"}
model.outputs({loss: {}, "grad.a1": {}, "grad.b1": rows, "grad.a2": columns, "grad.b2": {}})

plan = planproof.Plan(model, mesh={"dp": 2, "tp": 2})
p = plan.program()
x, t, w1, w2 = p.inputs(x={0: "dp"}, t={0: "dp"}, w1=rows, w2=columns)
a1, b1, a2, b2 = p.inputs(a1={}, b1=rows, a2=columns, b2={})
low1 = p.linear(x, a1)
act = p.silu(p.add(p.linear(x, w1), p.linear(low1, b1), alpha=2))
base2_part, low2_part = p.linear(act, w2), p.linear(act, a2)
base2, low2 = p.all_reduce(base2_part, over="tp"), p.all_reduce(low2_part, over="tp")
y = p.add(base2, p.linear(low2, b2), alpha=2)
loss_part = p.mse_loss(y, t, reduction="sum")
p.all_reduce(loss_part, over="dp", out="loss")

grads = p.gradients(loss_part, p.input("grad.loss"), [base2, low2, b2])
grad_low1, d_b1, d_a2 = p.gradients([base2_part, low2_part], grads[:2], [low1, b1, a2])
d_b2 = grads[2]
d_a1 = p.backward(low1, p.all_reduce(grad_low1, over="tp"), [a1])
for adapter, grad in {a1: d_a1, b1: d_b1, a2: d_a2, b2: d_b2}.items():
    p.all_reduce(grad, over="dp", out=f"grad.{adapter}")

if __name__ == "__main__":
    print(planproof.verify(plan))
