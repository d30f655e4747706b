"""Attention with the sequence cut over cp and the keys gathered: ALiBi, a sliding window, or soft
caps, forward and backward. Causal, but for symmetric ALiBi: softmax does not see that causal ALiBi
counts queries from another position."""
import planproof

KINDS = ("alibi", "symmetric_alibi", "window", "soft_cap")
CASES = [dict(kind=kind, ranks=ranks) for kind in KINDS for ranks in (2, 4)]
FAULT = "gradients of the gathered values are cut, but not summed"
FAULTY, NAMES = [dict(kind="window", ranks=4)], "chunk.1"
BATCH, SEQUENCE, HEADS, DEPTH = 2, 16, 2, 4
WIDTH = HEADS * DEPTH
SOFT_CAP = "op soft_cap(x) {cap: real} -> y = cap * tanh(x / cap)"


def heads(graph, x, weight):
    return graph.view(graph.linear(x, weight), size=[BATCH, -1, HEADS, DEPTH])


def attention(graph, kind, q, k, v, slopes=None, start=0):
    scores = graph.einsum(q, k, equation="bqhd,bkhd->bhqk") * 0.5
    if kind == "soft_cap":
        scores = graph.soft_cap(scores, cap=20)
    elif kind == "window":
        scores = graph.sliding_window_mask(scores, left=4, start=start)
    else:
        scores = graph.alibi(scores, slopes, start=start, symmetric=kind == "symmetric_alibi")
    if kind != "symmetric_alibi":
        scores = graph.causal_mask(scores, start=start)
    o = graph.einsum(graph.softmax(scores), v, equation="bhqk,bkhd->bqhd")
    return graph.view(o, size=[BATCH, -1, WIDTH])


def plan(kind="alibi", ranks=2, fault=False):
    model = planproof.Specification()
    model.declare(SOFT_CAP)
    x, t = model.inputs(x=[BATCH, SEQUENCE, WIDTH], t=[BATCH, SEQUENCE, WIDTH])
    weights = model.parameters({name: [WIDTH, WIDTH] for name in ("wq", "wk", "wv", "wo")})
    slopes = [model.buffer("slopes", [HEADS])] if "alibi" in kind else []
    *qkv, wo = weights
    o = attention(model, kind, *(heads(model, x, weight) for weight in qkv), *slopes)
    y = model.linear(o, wo, out="y")
    model.gradients(model.mse_loss(y, t, reduction="sum", out="loss"), weights)
    part = {1: "cp"}
    model.outputs({y: part, **{f"grad.{weight}": {} for weight in weights}})

    whole = planproof.Plan(model, mesh={"cp": ranks})
    p = whole.program()
    x, t, *weights = p.inputs({"x": part, "t": part, **{str(weight): {} for weight in weights}})
    slopes = [p.input("slopes", {})] if "alibi" in kind else []
    *qkv, wo = weights
    q, k, v = (heads(p, x, weight) for weight in qkv)
    k_all, v_all = (p.all_gather(tensor, over="cp", dim=1) for tensor in (k, v))
    o = attention(p, kind, q, k_all, v_all, *slopes, start=f"=cp * {SEQUENCE // ranks}")
    y = p.linear(o, wo, out="y")
    grad_y = p.backward(p.mse_loss(y, t, reduction="sum"), p.input("grad.loss"), [y])
    grad_q, grad_k, grad_v, d_wo = p.gradients(y, grad_y, [q, k_all, v_all, wo])
    grad_k = p.reduce_scatter(grad_k, over="cp", dim=1)
    cut = p.chunk if fault else p.reduce_scatter
    grad_v = cut(grad_v, over="cp", dim=1)
    local = p.gradients([q, k, v], [grad_q, grad_k, grad_v], qkv)
    for weight, grad in zip(weights, (*local, d_wo)):
        p.all_reduce(grad, over="cp", out=f"grad.{weight}")
    return whole
