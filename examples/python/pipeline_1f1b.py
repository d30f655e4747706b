"""Two pipeline stages of two data-parallel ranks, four microbatches in the order 1F1B, SGD with
momentum."""
import planproof

SGD = {"lr": 0.1, "momentum": 0.9}

model = planproof.Specification()
x, t = model.inputs(x=[16, 8], t=[16, 8])
w, v = model.parameters(w=[24, 8], v=[8, 24])
momenta = model.buffers({"w.momentum": [24, 8], "v.momentum": [8, 24]})
y = model.linear(model.silu(model.linear(x, w)), v)
loss = model.mse_loss(y, t, out="loss")
grads = model.gradients(loss, [w, v])
for weight, grad, momentum in zip([w, v], grads, momenta):
    new = model.sgd(weight, grad, momentum, out=[f"{weight}.new", f"{momentum}.new"], **SGD)
    model.update(weight, new[0])
    model.output(new[1], {})

plan = planproof.Plan(model, mesh={"pp": 2, "dp": 2}, microbatches=4)
first, last = plan.program("stage0", {"pp": 0}), plan.program("stage1", {"pp": 1})
x, w, w_momentum = first.inputs({"x": {0: ["dp", "microbatch"]}, "w": {}, "w.momentum": {}})
t, v, v_momentum = last.inputs({"t": {0: ["dp", "microbatch"]}, "v": {}, "v.momentum": {}})
with first.phase("F0"):
    h = first.linear(x, w)
    act = first.silu(h)
with last.phase("F0"):
    received = last.move(act)
    y = last.linear(received, v)
    local = last.mse_loss(y, t)
    scaled = local / 4
with last.phase("B0"):
    grad_y = last.backward(local, last.backward(scaled, last.input("grad.loss"), [local]), [y])
    d_v, grad_act = last.backward(y, grad_y, [v, received])
with first.phase("B0"):
    grad_h = first.backward(act, first.move(grad_act), [h])
    d_w = first.backward(h, grad_h, [w])
for stage, p, weight, momentum, grad in ((0, first, w, w_momentum, d_w), (1, last, v, v_momentum, d_v)):
    with p.phase("update"):
        total = p.all_reduce(p.accumulate(grad), over="dp", reduce="avg", out=f"grad.{weight}")
        p.sgd(weight, total, momentum, out=[f"{weight}.new", f"{momentum}.new"], **SGD)
    p.schedule(planproof.one_f_one_b(stage, 2, 4), "update")

if __name__ == "__main__":
    print(planproof.verify(plan, expect_schedule="1f1b"))
