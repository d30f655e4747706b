"""ZeRO-1 over four ranks, two microbatches: gradients are reduced and scattered, every rank runs
AdamW on its rows, parameters are gathered."""
import planproof

ADAMW = {"lr": 0.001, "weight_decay": 0.1, "step": 10}

model = planproof.Specification()
x, t = model.inputs(x=[16, 16], t=[16, 8])
shapes = {1: [32, 16], 2: [8, 32]}
w1, w2 = (model.parameter(f"w{i}", shape) for i, shape in shapes.items())
loss = model.mse_loss(model.linear(model.relu(model.linear(x, w1)), w2), t, out="loss")
for (i, shape), w, grad in zip(shapes.items(), [w1, w2], model.gradients(loss, [w1, w2])):
    m, v = model.buffer(f"m{i}", shape), model.buffer(f"v{i}", shape, premise="nonnegative")
    new = model.adamw(w, grad, m, v, out=[f"w{i}.new", f"m{i}.new", f"v{i}.new"], **ADAMW)
    model.update(w, new[0])
    model.outputs({new[1]: {0: "dp"}, new[2]: {0: "dp"}})

plan = planproof.Plan(model, mesh={"dp": 4}, microbatches=2)
p = plan.program()
batch = {0: ["dp", "microbatch"]}
x, t, w1, w2 = p.inputs(x=batch, t=batch, w1={}, w2={})
loss = p.mse_loss(p.linear(p.relu(p.linear(x, w1)), w2), t) / 2
grads = p.gradients(loss, p.input("grad.loss"), [w1, w2])
for i, w, grad in zip((1, 2), (w1, w2), grads):
    m, v = p.inputs({f"m{i}": {0: "dp"}, f"v{i}": {0: "dp"}})
    rows = shapes[i][0] // 4
    grad = p.reduce_scatter(p.accumulate(grad), over="dp", dim=0, reduce="avg")
    shard = p.narrow(w, dim=0, start=f"=dp * {rows}", length=rows)
    new = p.adamw(shard, grad, m, v, out=[f"w{i}.shard.new", f"m{i}.new", f"v{i}.new"], **ADAMW)
    p.all_gather(new[0], over="dp", dim=0, out=f"w{i}.new")

if __name__ == "__main__":
    print(planproof.verify(plan))
