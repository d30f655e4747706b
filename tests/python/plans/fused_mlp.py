"""SwiGLU cut over tp. Fused: one product for gate and up projection; one tensor whose halves are
gate and up, in the model too; or one kernel for both projections and the activation."""
import planproof

CASES = [dict(kind=kind, tp=tp) for kind in ("gate_up", "halves", "one_kernel") for tp in (2, 4)]
FAULT = "gate and up are taken for each other"
FAULTY, NAMES = [dict(kind="gate_up")], "operands w1 and w2 of cat (cat.1) are exchanged"
TOKENS, WIDTH, HIDDEN = 8, 4, 16
OPERATORS = """
## Of one tensor: its first half activates, its second half is what passes.
op swiglu(x[b.., (c:2 k)]) -> y[b.., k] = x[b.., (0 k)] * sigmoid(x[b.., (0 k)]) * x[b.., (1 k)]
## Both projections and the activation, which nobody sees apart.
op swiglu_projected(x[b.., i], gate[k, i], up[k, i])
  let g[k2] = sum(i2: x[b.., i2] * gate[k2, i2])
  -> y[b.., k] = g[k] * sigmoid(g[k]) * sum(i3: x[b.., i3] * up[k, i3])
"""


def plan(kind="gate_up", tp=2, fault=False):
    packed = kind == "halves"
    model = planproof.Specification()
    model.declare(OPERATORS)
    x, t = model.inputs(x=[TOKENS, WIDTH], t=[TOKENS, WIDTH])
    if packed:
        weights = model.parameters(w12=[2 * HIDDEN, WIDTH], w3=[WIDTH, HIDDEN])
        a = model.swiglu(model.linear(x, weights[0]))
    else:
        weights = model.parameters(w1=[HIDDEN, WIDTH], w2=[HIDDEN, WIDTH], w3=[WIDTH, HIDDEN])
        a = model.silu(model.linear(x, weights[0])) * model.linear(x, weights[1])
    y = model.linear(a, weights[-1], out="y")
    model.gradients(model.mse_loss(y, t, reduction="sum", out="loss"), weights)
    part = HIDDEN // tp
    # Of the packed weight a rank holds its part of either half.
    halves = {"map": [f"i0 / {part} * {HIDDEN} + tp * {part} + i0 % {part}", "i1"],
              "shape": [2 * part, WIDTH]}
    rows, columns = {0: "tp"}, {1: "tp"}
    held = {"w12": halves, "w3": columns} if packed else {"w1": rows, "w2": rows, "w3": columns}
    required = {f"grad.{name}": relation for name, relation in held.items() if relation is not halves}
    model.outputs({y: {}, **required, **({"grad.w12": {"map": halves["map"]}} if packed else {})})

    whole = planproof.Plan(model, mesh={"tp": tp})
    p = whole.program()
    x, t, *weights = p.inputs({"x": {}, "t": {}, **held})
    *first, last = weights
    if kind == "one_kernel":
        a = p.swiglu_projected(x, *first)
    else:
        joined = first[0] if packed else p.cat(*first, dim=0)
        h = p.linear(x, joined)
        gate, up = (p.narrow(h, dim=1, start=start, length=part) for start in (0, part))
        a = p.silu(up) * gate if fault else p.silu(gate) * up
    y_part = p.linear(a, last)
    y = p.all_reduce(y_part, over="tp", out="y")
    grad_y = p.backward(p.mse_loss(y, t, reduction="sum"), p.input("grad.loss"), [y])
    p.gradients(y_part, grad_y, {weight: f"grad.{weight}" for weight in weights})
    return whole
