"""Ulysses: the sequence is cut over sp, and all_to_all turns it into a cut of the heads for the
attention, forward and backward."""
import planproof

CASES = [dict(ranks=2), dict(ranks=4)]
FAULT = "the heads that come back are put together in turn, one of each rank"
FAULTY, NAMES = [dict(ranks=4)], "all_to_all.4"
BATCH, SEQUENCE, HEADS, DEPTH = 2, 16, 8, 2
WIDTH = HEADS * DEPTH


def attention(graph, q, k, v):
    scores = graph.causal_mask(graph.einsum(q * 0.5, k, equation="bqhd,bkhd->bhqk"))
    return graph.einsum(graph.softmax(scores), v, equation="bhqk,bkhd->bqhd")


def plan(ranks=2, fault=False):
    model = planproof.Specification()
    x, t = model.inputs(x=[BATCH, SEQUENCE, WIDTH], t=[BATCH, SEQUENCE, WIDTH])
    weights = model.parameters(wqkv=[3 * WIDTH, WIDTH], wo=[WIDTH, WIDTH])
    wqkv, wo = weights

    def qkv_of(graph, x, weight):
        qkv = graph.view(graph.linear(x, weight), size=[BATCH, -1, 3, HEADS, DEPTH])
        return [graph.select(qkv, dim=2, index=i) for i in range(3)]

    o = attention(model, *qkv_of(model, x, wqkv))
    y = model.linear(model.view(o, size=[BATCH, SEQUENCE, WIDTH]), wo, out="y")
    model.gradients(model.mse_loss(y, t, reduction="sum", out="loss"), weights)
    part = {1: "sp"}
    model.outputs({y: part, "grad.wqkv": {}, "grad.wo": {}})

    whole = planproof.Plan(model, mesh={"sp": ranks})
    p = whole.program()
    x, t, wqkv, wo = p.inputs(x=part, t=part, wqkv={}, wo={})

    def to_heads(tensor):
        return p.all_to_all(tensor, over="sp", split_dim=2, concat_dim=1)

    def to_sequence(tensor):
        return p.all_to_all(tensor, over="sp", split_dim=1, concat_dim=2)

    def in_turn(tensor):
        by_rank = p.view(tensor, size=[BATCH, SEQUENCE // ranks, ranks, HEADS // ranks, DEPTH])
        return p.view(p.transpose(by_rank, dim0=2, dim1=3), size=[BATCH, SEQUENCE // ranks, HEADS, DEPTH])

    own = qkv_of(p, x, wqkv)
    by_head = [to_heads(tensor) for tensor in own]
    o = attention(p, *by_head)
    back = in_turn(to_sequence(o)) if fault else to_sequence(o)
    y = p.linear(p.view(back, size=[BATCH, -1, WIDTH]), wo, out="y")
    grad_y = p.backward(p.mse_loss(y, t, reduction="sum"), p.input("grad.loss"), [y])
    grad_back, d_wo = p.gradients(y, grad_y, [back, wo])
    grads = p.gradients(o, to_heads(grad_back), by_head)
    d_wqkv = p.gradients(own, [to_sequence(grad) for grad in grads], [wqkv])
    p.all_reduce(d_wqkv, over="sp", out="grad.wqkv")
    p.all_reduce(d_wo, over="sp", out="grad.wo")
    return whole
