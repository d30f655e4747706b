"""A DiT-like block: group norm, modulated by shift, scale and gate that a condition gives (adaLN);
channels cut over tp, length over sp, so that every rank holds its rows of all three thirds."""
import planproof

OPERATORS = """
## Parts of group_norm, for statistics that are averaged over ranks.
op group_mean(x[n, (g:groups c), l]) {groups: int} -> m[n, g] = mean(c, l: x[n, (g c), l])
op group_variance(x[n, (g:groups c), l], m[n, g]) {groups: int}
  -> v[n, g] = mean(c, l: (x[n, (g c), l] - m[n, g]) ^ 2)
op group_apply(x[n, (g:groups c), l], m[n, g], v[n, g]) {groups: int, eps: real = 1e-5}
  -> y[n, (g c), l] = (x[n, (g c), l] - m[n, g]) * rsqrt(v[n, g] + eps)
op modulate(x[n, c, l], shift[n, c], scale[n, c])
  -> y[n, c, l] = x[n, c, l] * (1 + scale[n, c]) + shift[n, c]
op gated(x[n, c, l], gate[n, c]) -> y[n, c, l] = x[n, c, l] * gate[n, c]
"""

model = planproof.Specification()
model.declare(OPERATORS)
x, c, t = model.inputs(x=[4, 8, 6], c=[4, 5], t=[4, 8, 6])
wm, bm, w = model.parameters(wm=[24, 5], bm=[24], w=[8, 8])
shift, scale, gate = model.chunk(model.linear(model.silu(c), wm, bm), chunks=3, dim=1)
m = model.modulate(model.group_norm(x, num_groups=4, out="n"), shift, scale)
h = model.einsum(m, w, equation="ncl,oc->nol", out="h")
loss = model.mse_loss(x + model.gated(h, gate), t, reduction="sum", out="loss")
model.gradients(loss, [x, wm, bm, w])
block, thirds = {1: "tp", 2: "sp"}, "i0 / 4 * 8 + tp * 4 + i0 % 4"
rows = {"wm": {"map": [thirds, "i1"], "shape": [12, 5]}, "bm": {"map": [thirds], "shape": [12]}}
model.outputs({"grad.x": block, "grad.wm": rows["wm"], "grad.bm": rows["bm"], "grad.w": {1: "tp"}})

plan = planproof.Plan(model, mesh={"tp": 2, "sp": 2})
p = plan.program()
x, t, c, wm, bm, w = p.inputs({"x": block, "t": block, "c": {}, **rows, "w": {1: "tp"}})


def mean(tensor):
    return p.all_reduce(tensor, over="sp", reduce="avg")


shift, scale, gate = p.chunk(p.linear(p.silu(c), wm, bm), chunks=3, dim=1)
center_local = p.group_mean(x, groups=2)
center = mean(center_local)
variance_local = p.group_variance(x, center, groups=2)
variance = mean(variance_local)
n = p.group_apply(x, center, variance, groups=2, out="n")
h_part = p.einsum(p.modulate(n, shift, scale), w, equation="ncl,oc->nol")
h = p.reduce_scatter(h_part, over="tp", dim=1, out="h")
loss = p.mse_loss(x + p.gated(h, gate), t, reduction="sum", out="loss")
grad_x, grad_h, grad_gate = p.gradients(loss, p.input("grad.loss"), [x, h, gate])
grad_h = p.all_gather(grad_h, over="tp", dim=1)
*of_n, grad_shift, grad_scale, d_w = p.gradients(
    h_part, grad_h, [x, center, variance, shift, scale, w])
of_variance = p.backward(variance_local, mean(of_n[2]), [x, center])
of_center = p.backward(center_local, mean(of_n[1] + of_variance[1]), [x])
p.add(grad_x, of_n[0] + of_variance[0] + of_center, out="grad.x")
d_mod = p.gradients([shift, scale, gate], [grad_shift, grad_scale, grad_gate], [wm, bm])
for weight, grad in zip((wm, bm, w), (*d_mod, d_w)):
    p.all_reduce(grad, over="sp", out=f"grad.{weight}")

if __name__ == "__main__":
    print(planproof.verify(plan))
