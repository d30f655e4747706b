"""Attention with one product for queries, keys and values, heads cut over tp: the weights are
packed by the plan, head by head as Megatron does, or one after the other."""
import planproof

CASES = [dict(order=order, tp=tp) for order in ("in_turn", "by_head") for tp in (2, 4)]
FAULT = "terms of the result are averaged"
FAULTY, NAMES = [dict(order="by_head", tp=2)], "all_reduce (y) averages where a sum is needed"
BATCH, TOKENS, HEADS, DEPTH = 2, 8, 8, 2
WIDTH = HEADS * DEPTH


def attention(graph, q, k, v):
    scores = graph.causal_mask(graph.einsum(q * 0.5, k, equation="bqhd,bkhd->bhqk"))
    o = graph.einsum(graph.softmax(scores), v, equation="bhqk,bkhd->bqhd")
    return graph.view(o, size=[BATCH, TOKENS, -1])


def plan(order="in_turn", tp=2, fault=False):
    shape = [BATCH, TOKENS, WIDTH]
    model = planproof.Specification()
    x, t = model.inputs(x=shape, t=shape)
    weights = model.parameters({name: [WIDTH, WIDTH] for name in ("wq", "wk", "wv", "wo")})
    qkv = (model.view(model.linear(x, weight), size=[BATCH, TOKENS, HEADS, DEPTH])
           for weight in weights[:3])
    y = model.linear(attention(model, *qkv), weights[3], out="y")
    model.gradients(model.mse_loss(y, t, reduction="sum", out="loss"), weights)
    held = {"wq": {0: "tp"}, "wk": {0: "tp"}, "wv": {0: "tp"}, "wo": {1: "tp"}}
    model.outputs({y: {}, **{f"grad.{name}": relation for name, relation in held.items()}})

    whole = planproof.Plan(model, mesh={"tp": tp})
    p = whole.program()
    x, t, *weights, wo = p.inputs({"x": {}, "t": {}, **held})
    heads = HEADS // tp
    if order == "by_head":
        by_head = [p.view(weight, size=[heads, DEPTH, WIDTH]) for weight in weights]
        packed = p.view(p.stack(by_head, dim=1), size=[-1, WIDTH])
    else:
        packed = p.cat(*weights, dim=0)
    h = p.linear(x, packed)
    turn = order == "in_turn"
    h = p.view(h, size=[BATCH, TOKENS, *([3, heads] if turn else [heads, 3]), DEPTH])
    q, k, v = (p.select(h, dim=2 if turn else 3, index=i) for i in range(3))
    y_part = p.linear(attention(p, q, k, v), wo)
    y = p.all_reduce(y_part, over="tp", reduce="avg" if fault else "sum", out="y")
    grad_y = p.backward(p.mse_loss(y, t, reduction="sum"), p.input("grad.loss"), [y])
    p.gradients(y_part, grad_y, {weight: f"grad.{weight}" for weight in [*weights, wo]})
    return whole
