"""Sliding-window attention with soft-capped scores (Gemma 2), heads over tp, sequence over cp: keys
and values are gathered over cp, as Llama 3 does."""
import planproof

OPERATORS = """
## cap tanh(x / cap). Source: Gemma 2, arXiv:2408.00118.
op soft_cap(x) {cap: real} -> y = cap * tanh(x / cap)
## A query sees the `window` keys up to its own position, which is `start` more than its index.
op window_mask(x[b.., q, k]) {window: int, start = 0}
  -> y[b.., q, k] = where(k <= q + start and q + start < k + window, x[b.., q, k], -inf)
"""


def heads(graph, x, weights, size):
    """Queries, keys and values by heads."""
    return [graph.view(graph.linear(x, weight), size=size, out=name)
            for weight, name in zip(weights, "qkv")]


def attention(graph, q, k, v, **start):
    scores = graph.einsum(q, k, equation="bqhd,bkhd->bhqk", out="s")
    masked = graph.window_mask(graph.soft_cap(scores * 0.5, cap=50), window=4, **start)
    return graph.einsum(graph.softmax(masked, out="p"), v, equation="bhqk,bkhd->bqhd")


model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[2, 16, 8], t=[2, 16, 8])
*wqkv, wo = model.parameters({name: [8, 8] for name in ("wq", "wk", "wv", "wo")})
o = attention(model, *heads(model, x, wqkv, [2, 16, 2, 4]))
y = model.linear(model.view(o, size=[2, 16, 8]), wo, out="y")
model.gradients(model.mse_loss(y, t, reduction="sum", out="loss"), [*wqkv, wo])
rows, part = {0: "tp"}, {1: "cp"}
model.outputs({y: part, "grad.wq": rows, "grad.wk": rows, "grad.wv": rows, "grad.wo": {1: "tp"}})

plan = planproof.Plan(model, mesh={"cp": 4, "tp": 2})
p = plan.program()
x, t, *wqkv, wo = p.inputs(x=part, t=part, wq=rows, wk=rows, wv=rows, wo={1: "tp"})
q, *kv = heads(p, x, wqkv, [2, 4, 1, 4])
k, v = (p.all_gather(tensor, over="cp", dim=1) for tensor in kv)
o = attention(p, q, k, v, start="=cp * 4")
y_part = p.linear(p.view(o, size=[2, 4, 4]), wo)
y = p.all_reduce(y_part, over="tp", out="y")
loss = p.mse_loss(y, t, reduction="sum", out="loss")

grad_y = p.backward(loss, p.input("grad.loss"), [y])
grad_q, grad_k, grad_v, d_wo = p.gradients(y_part, grad_y, [q, k, v, wo])
grads = [grad_q, *(p.reduce_scatter(grad, over="cp", dim=1)
                   for grad, tensor in zip((grad_k, grad_v), kv))]
for by_head, grad, weight in zip((q, *kv), grads, wqkv):
    p.all_reduce(p.gradients(by_head, grad, [weight]), over="cp", out=f"grad.{weight}")
p.all_reduce(d_wo, over="cp", out="grad.wo")

if __name__ == "__main__":
    print(planproof.verify(plan))
