"""Causal ring attention over four ranks: keys and values travel around the ring, results are merged
by online softmax; the backward pass recomputes the probabilities and sends the gradients of keys
and values around the ring, too."""
import planproof

OPERATORS = """
## One more block of keys: the sum of weights so far, and what is accumulated of the result.
op online_sum(before[b.., q], m0[b.., q], m1[b.., q], p[b.., q, k])
  -> l[b.., q] = before[b.., q] * exp(m0[b.., q] - m1[b.., q]) + sum(k: p[b.., q, k])
op online_result(before[b.., q, d], m0[b.., q], m1[b.., q], p[b.., q, k], v[b.., k, d])
  -> o[b.., q, d] = before[b.., q, d] * exp(m0[b.., q] - m1[b.., q])
                    + sum(k: p[b.., q, k] * v[b.., k, d])
op online_finish(o[b.., q, d], l[b.., q]) -> y[b.., q, d] = o[b.., q, d] / l[b.., q]
op probabilities(s[b.., q, k], m[b.., q], l[b.., q]) {start = 0}
  -> p[b.., q, k] = where(k <= q + start, exp(s[b.., q, k] - m[b.., q]) / l[b.., q], 0)
## The backward pass of FlashAttention: ds = p (dp - delta) with delta = sum(do o).
op delta_of_rows(do[b.., q, d], o[b.., q, d]) -> y[b.., q] = sum(d: do[b.., q, d] * o[b.., q, d])
op score_gradient(p[b.., q, k], dp[b.., q, k], delta[b.., q])
  -> ds[b.., q, k] = p[b.., q, k] * (dp[b.., q, k] - delta[b.., q])
"""
SCORES, RESULT, BACK = "bqd,bkd->bqk", "bqk,bkd->bqd", "bqk,bqd->bkd"

model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[2, 16, 4], t=[2, 16, 4])
weights = model.parameters(wq=[4, 4], wk=[4, 4], wv=[4, 4])
q, k, v = (model.linear(x, weight, out=name) for weight, name in zip(weights, "qkv"))
s = model.einsum(q * 0.5, k, equation=SCORES)
o = model.einsum(model.softmax(model.causal_mask(s)), v, equation=RESULT, out="o")
model.gradients(model.mse_loss(o, t, reduction="sum", out="loss"), weights)
part = {1: "cp"}
model.outputs({o: part, "grad.wq": {}, "grad.wk": {}, "grad.wv": {}})

plan = planproof.Plan(model, mesh={"cp": 4})
p = plan.program()
x, t, *weights = p.inputs(x=part, t=part, wq={}, wk={}, wv={})
q, k0, v0 = (p.linear(x, weight, out=name) for weight, name in zip(weights, ("q", "k0", "v0")))
qs, ring, steps, m = q * 0.5, (k0, v0), [], None
for r in range(4):
    start = {"start": f"=(cp - (cp + {4 - r}) % 4) * 4"} if r else {}  # of the block after r hops
    k, v = ring = [p.permute(block, "cp", shift=1) for block in ring] if r else ring
    s = p.einsum(qs, k, equation=SCORES)
    old, m = m, p.online_max(s, m, **start) if r else p.online_max_first(s)
    w = p.online_weights(s, m, **start)
    l = p.online_sum(l, old, m, w) if r else p.sum(w, dim=-1)
    acc = p.online_result(acc, old, m, w, v) if r else p.einsum(w, v, equation=RESULT)
    steps.append((k, v, s, start))
o = p.online_finish(acc, l, out="o")

grad_o = p.backward(p.mse_loss(o, t, reduction="sum"), p.input("grad.loss"), [o])
delta, grads = p.delta_of_rows(grad_o, o), []
for r, (k, v, s, start) in enumerate(steps):
    w = p.probabilities(s, m, l, **start)
    ds = p.score_gradient(w, p.einsum(grad_o, v, equation=SCORES), delta)
    new = [p.einsum(ds, k, equation=RESULT), p.einsum(ds, qs, equation=BACK),
           p.einsum(w, grad_o, equation=BACK)]
    grads = [(p.permute(so_far, "cp", shift=1) if i else so_far) + more
             for i, (so_far, more) in enumerate(zip(grads, new))] if r else new
grad_q = p.backward(qs, grads[0], {q: "grad.q"})
grad_k, grad_v = (p.permute(grad, "cp", shift=1, out=f"grad.{name}")
                  for grad, name in zip(grads[1:], "kv"))
for result, grad, weight in zip((q, k0, v0), (grad_q, grad_k, grad_v), weights):
    p.all_reduce(p.backward(result, grad, [weight]), over="cp", out=f"grad.{weight}")
# Without it the terms exceed the work limit.

if __name__ == "__main__":
    print(planproof.verify(plan))
