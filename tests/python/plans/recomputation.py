"""Layers whose backward pass computes activations again, and otherwise than the forward pass did:
the norm from its kept statistics, sums in another order, a product in two parts."""
import planproof

CASES = [dict(layers=layers, dp=dp) for layers, dp in ((1, 2), (4, 2), (4, 4))]
FAULT = "a gradient is averaged over dp, although the loss is a sum"
FAULTY, NAMES = [dict(layers=4)], "all_reduce (grad.v.3) averages where a sum is needed"
WIDTH, HIDDEN = 4, 8
OPERATORS = """
op inverse_deviation(x[b.., h], c[b..]) -> y[b..] = rsqrt(mean(h: (x[b.., h] - c[b..]) ^ 2) + 1e-5)
op normalized(x[b.., h], c[b..], r[b..]) -> y[b.., h] = (x[b.., h] - c[b..]) * r[b..]
## E[x^2] - E[x]^2, in one pass.
op inverse_deviation_in_one_pass(x[b.., h])
  -> y[b..] = rsqrt(mean(h: x[b.., h] ^ 2) - mean(h2: x[b.., h2]) ^ 2 + 1e-5)
"""


def plan(layers=1, dp=2, fault=False):
    model = planproof.Specification()
    model.declare(OPERATORS)
    x, t = model.inputs(x=[8, WIDTH], t=[8, WIDTH])
    names = [(f"w.{layer}", f"v.{layer}") for layer in range(layers)]
    weights = []
    for w_name, v_name in names:
        w, v = model.parameter(w_name, [HIDDEN, WIDTH]), model.parameter(v_name, [WIDTH, HIDDEN])
        n = model.layer_norm(x, None, None, normalized_shape=[WIDTH])
        x = x + model.linear(model.gelu(model.linear(n, w)), v)
        weights += [w, v]
    loss = model.mse_loss(x, t, reduction="sum", out="loss")
    model.gradients(loss, weights)
    model.outputs({loss: {}, **{f"grad.{weight}": {} for weight in weights}})

    whole = planproof.Plan(model, mesh={"dp": dp})
    p = whole.program()
    x, t = p.inputs(x={0: "dp"}, t={0: "dp"})
    kept = []
    for w_name, v_name in names:
        w, v = p.inputs({w_name: {}, v_name: {}})
        center = p.mean(x, dim=-1)
        deviation = p.inverse_deviation_in_one_pass(x)
        n = p.normalized(x, center, deviation)
        kept.append((x, center, deviation, w, v))
        x = p.linear(p.gelu(p.linear(n, w)), v) + x
    local = p.mse_loss(x, t, reduction="sum")
    p.all_reduce(local, over="dp", out="loss")
    grad = p.backward(local, p.input("grad.loss"), [x])
    for x, center, deviation, w, v in reversed(kept):
        n = p.layer_norm(x, None, None, normalized_shape=[WIDTH])  # otherwise than forward
        half = HIDDEN // 2
        parts = [p.linear(n, p.narrow(w, dim=0, start=start, length=half)) for start in (0, half)]
        h = p.cat(*parts, dim=1)
        a = p.gelu(h)
        y = p.linear(a, v)
        grad_a, d_v = p.backward(y, grad, [a, v])
        grad_h = p.backward(a, grad_a, [h])
        d_w = p.gradients(p.linear(n, w), grad_h, [w])
        grad_n = p.gradients(h, grad_h, [n])
        grad = p.backward(n, grad_n, [x]) + grad
        for weight, d in ((w, d_w), (v, d_v)):
            how = "avg" if fault and weight is kept[-1][-1] else "sum"
            p.all_reduce(d, over="dp", reduce=how, out=f"grad.{weight}")
    return whole
