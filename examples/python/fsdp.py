"""FSDP over four ranks: a layer's weight is gathered before its forward and again before its
backward pass, its gradient is reduced and scattered."""
import planproof

model = planproof.Specification()
x, t = model.inputs(x=[8, 16], t=[8, 16])
w1, w2, scale = model.parameters(w1=[16, 16], w2=[16, 16], scale=[16])
a = model.gelu(model.linear(model.rms_norm(x, scale), w1))
loss = model.mse_loss(model.linear(a, w2), t, out="loss")
for weight, grad in zip([w1, w2, scale], model.gradients(loss, [w1, w2, scale])):
    model.update(weight, model.sgd(weight, grad, lr=0.05, out=f"{weight}.new"))
model.outputs({loss: {}})

plan = planproof.Plan(model, mesh={"dp": 4})
p = plan.program()
cut = {0: "dp"}
x, t, w1, w2, scale = p.inputs(x=cut, t=cut, w1=cut, w2=cut, scale=cut)


def unshard(weight):
    full = p.all_gather(weight, over="dp", dim=0)
    if weight is not scale:
        p.buffers("unsharded", full)
    return full


def scatter(weight, grad):
    grad = p.reduce_scatter(grad, over="dp", dim=0, reduce="avg", out=f"grad.{weight}")
    p.sgd(weight, grad, lr=0.05, out=f"{weight}.new")


scale_full = unshard(scale)
n = p.rms_norm(x, scale_full)
w1_full = unshard(w1)
h = p.linear(n, w1_full)
a = p.gelu(h)
w2_full = unshard(w2)
y = p.linear(a, w2_full)
local = p.mse_loss(y, t)
p.all_reduce(local, over="dp", reduce="avg", out="loss")
grad_y = p.backward(local, p.input("grad.loss"), [y])
grad_a, d_w2 = p.backward(y, grad_y, [a, w2_full], reads=[a, unshard(w2)])
scatter(w2, d_w2)
grad_h = p.backward(a, grad_a, [h])
grad_n, d_w1 = p.backward(h, grad_h, [n, w1_full], reads=[n, unshard(w1)])
scatter(w1, d_w1)
scatter(scale, p.backward(n, grad_n, [scale_full], reads=[x, unshard(scale)]))

if __name__ == "__main__":
    print(planproof.verify(plan))
