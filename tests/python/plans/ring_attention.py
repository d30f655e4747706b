"""Ring attention: keys and values travel around a ring of ranks, results are merged with a running
maximum; in the backward pass, which computes the probabilities again, the gradients of keys and
values travel, too. A loop over as many rounds as there are ranks."""
import planproof

CASES = [dict(ranks=ranks) for ranks in (4, 16, 256)]
FAULT = "the last round forgets to add its keys' gradient"
FAULTY, NAMES = [dict(ranks=16)], "grad.wk"
BLOCK, DEPTH = 4, 4
OPERATORS = """
## One more block of keys with a running maximum.
op next_max(before[b.., i], s[b.., i, j]) stop_gradient ties first
  -> m[b.., i] = max(before[b.., i], max(j: s[b.., i, j]))
op next_weights(s[b.., i, j], m[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i])
op next_sum(before[b.., i], m0[b.., i], m1[b.., i], p[b.., i, j])
  -> l[b.., i] = before[b.., i] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j])
op next_result(before[b.., i, d], m0[b.., i], m1[b.., i], p[b.., i, j], v[b.., j, d])
  -> o[b.., i, d] = before[b.., i, d] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j] * v[b.., j, d])
op finish(o[b.., i, d], l[b.., i]) -> y[b.., i, d] = o[b.., i, d] / l[b.., i]
## The backward pass, from a row's final statistics.
op probabilities(s[b.., i, j], m[b.., i], l[b.., i])
  -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i]) / l[b.., i]
op delta_of_rows(g[b.., i, d], o[b.., i, d]) -> y[b.., i] = sum(d: g[b.., i, d] * o[b.., i, d])
op score_gradient(p[b.., i, j], dp[b.., i, j], delta[b.., i])
  -> ds[b.., i, j] = p[b.., i, j] * (dp[b.., i, j] - delta[b.., i])
"""
SCORES, RESULT, BACK = "bqd,bkd->bqk", "bqk,bkd->bqd", "bqk,bqd->bkd"


def specification(ranks):
    model = planproof.Specification()
    model.declare(OPERATORS)
    shape = [2, BLOCK * ranks, DEPTH]
    x, t = model.inputs(x=shape, t=shape)
    weights = model.parameters(**{name: [DEPTH, DEPTH] for name in ("wq", "wk", "wv")})
    q, k, v = (model.linear(x, weight, out=name) for weight, name in zip(weights, "qkv"))
    shares = model.softmax(model.einsum(q * 0.5, k, equation=SCORES), dim=-1)
    o = model.einsum(shares, v, equation=RESULT, out="o")
    model.gradients(model.mse_loss(o, t, reduction="sum", out="loss"), weights)
    model.outputs({o: {1: "cp"}, "grad.wq": {}, "grad.wk": {}, "grad.wv": {}})
    return model


def plan(ranks=4, fault=False):
    whole = planproof.Plan(specification(ranks), mesh={"cp": ranks})
    p = whole.program()
    part = {1: "cp"}
    x, t, *weights = p.inputs(x=part, t=part, wq={}, wk={}, wv={})
    q, k0, v0 = (p.linear(x, weight, out=name) for weight, name in zip(weights, ("q", "k0", "v0")))
    queries, k, v, rounds = q * 0.5, k0, v0, []
    for r in range(ranks):
        s = p.einsum(queries, k, equation=SCORES)
        if r == 0:
            m = p.max(s, dim=-1)
            w = p.next_weights(s, m)
            l, acc = p.sum(w, dim=-1), p.einsum(w, v, equation=RESULT)
        else:
            old, m = m, p.next_max(m, s)
            w = p.next_weights(s, m)
            l, acc = p.next_sum(l, old, m, w), p.next_result(acc, old, m, w, v)
        rounds.append((k, v, s))
        if r + 1 < ranks:
            k, v = (p.permute(piece, "cp", shift=1) for piece in (k, v))
    o = p.finish(acc, l, out="o")
    grad_o = p.backward(p.mse_loss(o, t, reduction="sum"), p.input("grad.loss"), [o])
    delta, grads = p.delta_of_rows(grad_o, o), []
    for r, (k, v, s) in enumerate(rounds):
        w = p.probabilities(s, m, l)
        ds = p.score_gradient(w, p.einsum(grad_o, v, equation=SCORES), delta)
        new = [p.einsum(ds, k, equation=RESULT), p.einsum(ds, queries, equation=BACK),
               p.einsum(w, grad_o, equation=BACK)]
        if r == 0:
            grads = new
            continue
        grads = [grads[0]] + [p.permute(travelling, "cp", shift=1) for travelling in grads[1:]]
        if fault and r + 1 == ranks:
            new[1] = new[1] * 0
        grads = [so_far + more for so_far, more in zip(grads, new)]
    grad_q = p.backward(queries, grads[0], {q: "grad.q"})
    grad_k, grad_v = (p.permute(grad, "cp", shift=1, out=f"grad.{name}")
                      for grad, name in zip(grads[1:], "kv"))
    for result, grad, weight in zip((q, k0, v0), (grad_q, grad_k, grad_v), weights):
        p.all_reduce(p.backward(result, grad, [weight]), over="cp", out=f"grad.{weight}")
    return whole
