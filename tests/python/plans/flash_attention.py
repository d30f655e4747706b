"""Flash attention, heads cut over tp: no scores are kept. By blocks of keys with a running maximum;
or by a kernel that keeps the logarithm of each row's sum, from which the backward pass computes the
probabilities again."""
import planproof

CASES = [dict(statistics=statistics, blocks=blocks)
         for statistics, blocks in (("log_sum_exp", 1), ("log_sum_exp", 4), ("running_max", 2),
                                    ("running_max", 4))]
FAULT = "the backward pass forgets the sum of result times gradient"
FAULTY, NAMES = [dict(statistics="log_sum_exp", blocks=1)], "score_gradient.1"
BATCH, HEADS, TOKENS, DEPTH = 2, 4, 8, 4
OPERATORS = """
op attention_kernel(q[b, h, i, d], k[b, h, j, d], v[b, h, j, d])
  let s[i2, j2] = sum(d2: q[b, h, i2, d2] * k[b, h, j2, d2]) / 2
  let t[i3] = log(sum(j3: exp(s[i3, j3])))
  -> o[b, h, i, d] = sum(j4: exp(s[i, j4] - t[i]) * v[b, h, j4, d])
  -> lse[b, h, i] = t[i]
## From what a block of keys contributes, with the row's final statistics.
op probabilities(s[b.., i, j], lse[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - lse[b.., i])
op delta_of_rows(g[b.., i, d], o[b.., i, d]) -> y[b.., i] = sum(d: g[b.., i, d] * o[b.., i, d])
op score_gradient(p[b.., i, j], dp[b.., i, j], delta[b.., i])
  -> ds[b.., i, j] = p[b.., i, j] * (dp[b.., i, j] - delta[b.., i]) / 2
## One more block with a running maximum.
op next_max(before[b.., i], s[b.., i, j]) stop_gradient ties first
  -> m[b.., i] = max(before[b.., i], max(j: s[b.., i, j]))
op next_weights(s[b.., i, j], m[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i])
op next_sum(before[b.., i], m0[b.., i], m1[b.., i], p[b.., i, j])
  -> l[b.., i] = before[b.., i] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j])
op next_result(before[b.., i, d], m0[b.., i], m1[b.., i], p[b.., i, j], v[b.., j, d])
  -> o[b.., i, d] = before[b.., i, d] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j] * v[b.., j, d])
op finish(o[b.., i, d], l[b.., i]) -> y[b.., i, d] = o[b.., i, d] / l[b.., i]
op lse_of(m[b.., i], l[b.., i]) -> y[b.., i] = m[b.., i] + log(l[b.., i])
"""
SCORES, RESULT, BACK = "bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", "bhqk,bhqd->bhkd"


def running_max(p, q, ks, vs):
    """The result and log-sum-exp of rows, block by block."""
    m = l = acc = None
    for k, v in zip(ks, vs):
        s = p.einsum(q, k, equation=SCORES) * 0.5
        if m is None:
            m = p.max(s, dim=-1)
            w = p.next_weights(s, m)
            l, acc = p.sum(w, dim=-1), p.einsum(w, v, equation=RESULT)
            continue
        old, m = m, p.next_max(m, s)
        w = p.next_weights(s, m)
        l, acc = p.next_sum(l, old, m, w), p.next_result(acc, old, m, w, v)
    return p.finish(acc, l, out="o"), p.lse_of(m, l)


def plan(statistics="log_sum_exp", blocks=1, fault=False):
    shape = [BATCH, HEADS, TOKENS, DEPTH]
    model = planproof.Specification()
    model.declare(OPERATORS)
    q, k, v = model.parameters(q=shape, k=shape, v=shape)
    t = model.input("t", shape)
    weights = model.softmax(model.einsum(q, k, equation=SCORES) * 0.5, dim=-1)
    o = model.einsum(weights, v, equation=RESULT, out="o")
    model.gradients(model.mse_loss(o, t, reduction="sum", out="loss"), [q, k, v])
    part = {1: "tp"}
    model.outputs({o: part, "grad.q": part, "grad.k": part, "grad.v": part})

    whole = planproof.Plan(model, mesh={"tp": 2})
    p = whole.program()
    q, k, v, t = p.inputs(q=part, k=part, v=part, t=part)
    size = TOKENS // blocks
    ks, vs = ([p.narrow(tensor, dim=2, start=i * size, length=size) for i in range(blocks)]
              for tensor in (k, v))
    if statistics == "running_max":
        o, lse = running_max(p, q, ks, vs)
    else:
        o, lse = p.attention_kernel(q, k, v, out=["o", "lse"])
    g = p.backward(p.mse_loss(o, t, reduction="sum"), p.input("grad.loss"), [o])
    delta = p.delta_of_rows(g, o)
    if fault:
        delta = delta * 0
    grads_q, grads_k, grads_v = [], [], []
    for k_block, v_block in zip(ks, vs):
        w = p.probabilities(p.einsum(q, k_block, equation=SCORES) * 0.5, lse)
        ds = p.score_gradient(w, p.einsum(g, v_block, equation=SCORES), delta)
        grads_q.append(p.einsum(ds, k_block, equation=RESULT))
        grads_k.append(p.einsum(ds, q, equation=BACK))
        grads_v.append(p.einsum(w, g, equation=BACK))
    total = grads_q[0]
    for more in grads_q[1:]:
        total = total + more
    p.identity(total, out="grad.q")
    p.cat(*grads_k, dim=2, out="grad.k")
    p.cat(*grads_v, dim=2, out="grad.v")
    return whole
