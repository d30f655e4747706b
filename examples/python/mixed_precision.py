"""Mixed precision: float16 forward and backward passes, loss times 1024, gradients divided by it in
float32 before they are averaged; AdamW on the float32 master weights."""
import planproof

SCALE = 1024

model = planproof.Specification()
x, t = model.inputs(x=[8, 12], t=[8, 6])
shapes = {"w1": [24, 12], "b1": [24], "w2": [6, 24]}
weights = w1, b1, w2 = model.parameters(shapes)
y = model.linear(model.gelu(model.linear(x, w1, b1)), w2)
loss = model.mse_loss(y, t, out="loss")
for (name, shape), weight, grad in zip(shapes.items(), weights, model.gradients(loss, weights)):
    m = model.buffer(f"m.{name}", shape)
    v = model.buffer(f"v.{name}", shape, premise="nonnegative")
    model.update(weight, model.adamw(weight, grad, m, v, step=3, out=f"{name}.new"))
model.outputs({loss: {}})

plan = planproof.Plan(model, mesh={"dp": 4})
p = plan.program()
x, t = p.inputs(x={0: "dp"}, t={0: "dp"})
masters = p.inputs({name: {} for name in shapes})
x16, w1, b1, w2 = (p.half(tensor) for tensor in (x, *masters))
y = p.float(p.linear(p.gelu(p.linear(x16, w1, b1)), w2))
local = p.mse_loss(y, t)
p.all_reduce(local, over="dp", reduce="avg", out="loss")
grads = p.gradients(local * SCALE, p.input("grad.loss"), [w1, b1, w2])
for weight, grad in zip(masters, grads):
    grad = p.all_reduce(p.float(grad) / SCALE, over="dp", reduce="avg", out=f"grad.{weight}")
    m, v = p.inputs({f"m.{weight}": {}, f"v.{weight}": {}})
    p.adamw(weight, grad, m, v, step=3, out=f"{weight}.new")

if __name__ == "__main__":
    print(planproof.verify(plan))
