"""FSDP with prefetch: the gather of the next layer's weight is started before a layer runs, in the
forward and in the backward pass, and gradients are reduced and scattered meanwhile. Two buffers hold
the gathered weights."""
import planproof

CASES = [dict(layers=layers, ranks=ranks) for layers, ranks in ((4, 2), (4, 4), (16, 4))]
FAULT = "the backward pass reads the weight that the forward pass gathered, of which nothing is left"
FAULTY, NAMES = [dict(layers=4, ranks=2)], "all_gather.4 is read after"
WIDTH = 8


def plan(layers=4, ranks=2, fault=False):
    model = planproof.Specification()
    a, t = model.inputs(x=[8, WIDTH], t=[8, WIDTH])
    names = [f"w.{layer}" for layer in range(layers)]
    weights = model.parameters({name: [WIDTH, WIDTH] for name in names})
    for weight in weights:
        a = model.silu(model.linear(a, weight))
    loss = model.mse_loss(a, t, out="loss")
    for weight, grad in zip(weights, model.gradients(loss, weights)):
        model.update(weight, model.sgd(weight, grad, lr=0.1, out=f"{weight}.new"))
    model.outputs({loss: {}})

    whole = planproof.Plan(model, mesh={"dp": ranks})
    p = whole.program()
    cut = {0: "dp"}
    a, t = p.inputs(x=cut, t=cut)
    shards = p.inputs({name: cut for name in names})

    def start(layer, way):
        handle = f"{way}.{layer}"
        full = p.all_gather(shards[layer], over="dp", dim=0, async_=handle)
        p.buffers("even" if layer % 2 == 0 else "odd", full)
        return full, handle

    tape, following = [], start(0, "forward")
    for layer in range(layers):
        (full, handle), x = following, a
        p.wait(handle)
        if layer + 1 < layers:
            following = start(layer + 1, "forward")
        h = p.linear(x, full)
        a = p.silu(h)
        tape.append((x, full, h, a))
    local = p.mse_loss(a, t)
    p.all_reduce(local, over="dp", reduce="avg", out="loss")
    grad = p.backward(local, p.input("grad.loss"), [a])
    following = start(layers - 1, "backward")
    for layer in reversed(range(layers)):
        full, handle = following
        p.wait(handle)
        if layer:
            following = start(layer - 1, "backward")
        x, gathered, h, a = tape[layer]
        grad_h = p.backward(a, grad, [h])
        of = [x, gathered] if layer else [gathered]
        grads = p.backward(h, grad_h, of, reads=[x, gathered if fault else full])
        grad, d = grads if layer else (None, grads)
        name = names[layer]
        scattered = p.reduce_scatter(d, over="dp", dim=0, reduce="avg", out=f"grad.{name}",
                                     async_=f"scatter.{layer}")
        p.wait(f"scatter.{layer}")
        p.sgd(shards[layer], scattered, lr=0.1, out=f"{name}.new")
    return whole
