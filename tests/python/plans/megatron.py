"""A stack of transformer layers, tensor and sequence parallel as in Megatron, with its backward pass."""
import planproof

CASES = [dict(layers=2), dict(layers=8), dict(layers=32), dict(layers=2, tp=4)]
FAULTY = [dict(layers=2)]
FAULT = "the gradient of a layer norm's weight is not summed over the sequence's parts"
NAMES = "grad.gamma.1: sum over tp missing"
WIDTH, HEADS, SEQUENCE = 8, 4, 16
SHAPES = {"gamma": [8], "wq": [8, 8], "wk": [8, 8], "wv": [8, 8], "wo": [8, 8],
          "delta": [8], "w1": [32, 8], "w2": [8, 32]}
CUT = {"wq": {0: "tp"}, "wk": {0: "tp"}, "wv": {0: "tp"}, "wo": {1: "tp"}, "w1": {0: "tp"},
       "w2": {1: "tp"}, "gamma": {}, "delta": {}}


def attention(graph, x, wq, wk, wv, wo, heads):
    q, k, v = (graph.view(graph.linear(x, weight), size=[2, SEQUENCE, heads, 2])
               for weight in (wq, wk, wv))
    scores = graph.causal_mask(graph.einsum(q * 0.5, k, equation="bqhd,bkhd->bhqk"))
    o = graph.einsum(graph.softmax(scores), v, equation="bhqk,bkhd->bqhd")
    return graph.linear(graph.view(o, size=[2, SEQUENCE, heads * 2]), wo)


def mlp(graph, x, w1, w2):
    return graph.linear(graph.gelu(graph.linear(x, w1)), w2)


def weights_of(layer):
    return {f"{name}.{layer}": shape for name, shape in SHAPES.items()}


def plan(layers=2, tp=2, fault=False):
    model = planproof.Specification()
    x, t = model.inputs(x=[2, SEQUENCE, WIDTH], t=[2, SEQUENCE, WIDTH])
    parameters = []
    for layer in range(layers):
        weights = model.parameters(weights_of(layer))
        gamma, wq, wk, wv, wo, delta, w1, w2 = weights
        x = x + attention(model, model.rms_norm(x, gamma), wq, wk, wv, wo, HEADS)
        x = x + mlp(model, model.rms_norm(x, delta), w1, w2)
        parameters += weights
    loss = model.mse_loss(x, t, reduction="sum", out="loss")
    model.gradients(loss, parameters)
    model.outputs({loss: {}, **{f"grad.{w}": CUT[str(w).split(".")[0]] for w in parameters}})

    whole = planproof.Plan(model, mesh={"tp": tp})
    p = whole.program()
    x, t = p.inputs(x={1: "tp"}, t={1: "tp"})
    blocks = []
    for layer in range(layers):
        weights = p.inputs({f"{name}.{layer}": CUT[name] for name in SHAPES})
        gamma, wq, wk, wv, wo, delta, w1, w2 = weights
        for norm, block, *matrices in ((gamma, attention, wq, wk, wv, wo), (delta, mlp, w1, w2)):
            more = [HEADS // tp] if block is attention else []
            n = p.rms_norm(x, norm)
            gathered = p.all_gather(n, over="tp", dim=1)
            part = block(p, gathered, *matrices, *more)
            blocks.append((x, norm, n, gathered, part, matrices))
            x = x + p.reduce_scatter(part, over="tp", dim=1)
    local = p.mse_loss(x, t, reduction="sum")
    p.all_reduce(local, over="tp", out="loss")
    grad = p.backward(local, p.input("grad.loss"), [x])
    for x, norm, n, gathered, part, matrices in reversed(blocks):
        grad_part = p.all_gather(grad, over="tp", dim=1)
        names = {gathered: f"d.{gathered}", **{w: f"grad.{w}" for w in matrices}}
        grad_gathered = p.gradients(part, grad_part, names)[0]
        grad_n = p.reduce_scatter(grad_gathered, over="tp", dim=1)
        if fault and str(norm) == "gamma.1":
            d_x, _ = p.backward(n, grad_n, {x: f"d.{n}", norm: f"grad.{norm}"})
        else:
            d_x, d_norm = p.backward(n, grad_n, {x: f"d.{n}", norm: f"d.{norm}"})
            p.all_reduce(d_norm, over="tp", out=f"grad.{norm}")
        grad = grad + d_x
    return whole
