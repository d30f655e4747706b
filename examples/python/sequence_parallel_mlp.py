"""Megatron's MLP with sequence parallelism: layer norm and residual on a part of the sequence, the
two products on a part of the hidden features."""
from fractions import Fraction

import planproof

model = planproof.Specification()
x, t = model.inputs(x=[4, 16, 8], t=[4, 16, 8])
weights = model.parameters(gamma=[8], beta=[8], w1=[32, 8], b1=[32], w2=[8, 32], b2=[8])
gamma, beta, w1, b1, w2, b2 = weights
h = model.linear(model.layer_norm(x, gamma, beta, normalized_shape=[8]), w1, b1, out="h")
y = x + model.linear(model.gelu(h), w2, b2)
loss = model.mse_loss(y, t, out="loss")
model.gradients(loss, [x, *weights])
rows, columns = {0: "tp"}, {1: "tp"}
model.outputs({loss: {}, "grad.x": {0: "dp", 1: "tp"}, "grad.gamma": {}, "grad.beta": {},
               "grad.w1": rows, "grad.b1": rows, "grad.w2": columns, "grad.b2": {}})

plan = planproof.Plan(model, mesh={"dp": 2, "tp": 4})
p = plan.program()
x, t = p.inputs(x={0: "dp", 1: "tp"}, t={0: "dp", 1: "tp"})
gamma, beta, w1, b1, w2, b2 = p.inputs(gamma={}, beta={}, w1=rows, b1=rows, w2=columns, b2={})
a = p.layer_norm(x, gamma, beta, normalized_shape=[8])
a_all = p.all_gather(a, over="tp", dim=1)
h = p.linear(a_all, w1, b1, out="h")
o_part = p.linear(p.gelu(h), w2)
o = p.reduce_scatter(o_part, over="tp", dim=1) + b2
y = x + o
local = p.mse_loss(y, t)
p.all_reduce(local, over=["dp", "tp"], reduce="avg", out="loss")

grad_y = p.backward(local, p.input("grad.loss") * Fraction(1, 8), [y])
d_b2 = p.backward(o, grad_y, [b2])
grad_o = p.all_gather(grad_y, over="tp", dim=1)
grad_a, d_w1, d_b1, d_w2 = p.gradients(o_part, grad_o, [a_all, w1, b1, w2])
grad_a = p.reduce_scatter(grad_a, over="tp", dim=1)
grad_x, d_gamma, d_beta = p.backward(a, grad_a, [x, gamma, beta])
p.add(grad_y, grad_x, out="grad.x")
for weight, grad in {w1: d_w1, b1: d_b1, w2: d_w2}.items():
    p.all_reduce(grad, over="dp", out=f"grad.{weight}")
for weight, grad in {b2: d_b2, gamma: d_gamma, beta: d_beta}.items():
    p.all_reduce(grad, over=["dp", "tp"], out=f"grad.{weight}")

if __name__ == "__main__":
    print(planproof.verify(plan))
