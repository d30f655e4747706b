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
    act = first.silu(first.linear(x, w))
with last.phase("F0"):
    received = last.move(act)
    loss = last.mse_loss(last.linear(received, v), t) / 4
with last.phase("B0"):
    d_v, grad_act = last.gradients(loss, last.input("grad.loss"), [v, received])
with first.phase("B0"):
    d_w = first.gradients(act, first.move(grad_act), [w])
stages = (first, w, w_momentum, d_w), (last, v, v_momentum, d_v)
for stage, (p, weight, momentum, grad) in enumerate(stages):
    with p.phase("update"):
        total = p.all_reduce(p.accumulate(grad), over="dp", reduce="avg", out=f"grad.{weight}")
        p.sgd(weight, total, momentum, out=[f"{weight}.new", f"{momentum}.new"], **SGD)
    p.schedule(planproof.one_f_one_b(stage, 2, 4), "update")

if __name__ == "__main__":
    print(planproof.verify(plan, expect_schedule="1f1b"))
