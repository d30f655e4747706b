"""Two convolutions with a synchronised batch norm between them, batch over dp and image rows over
sp: neighbours exchange one row, statistics are averaged over all four ranks."""
import planproof

OPERATORS = """
## The second half of the statistics, from the mean, as SyncBatchNorm reduces them.
op channel_variance(x[n, c, h, w], center[c])
  -> v[c] = mean(n, h, w: (x[n, c, h, w] - center[c]) ^ 2)
"""

model = planproof.Specification()
model.declare(OPERATORS)
x, t = model.inputs(x=[4, 2, 8, 4], t=[4, 2, 8, 4])
shapes = {"k1": [3, 2, 3, 3], "gamma": [3], "beta": [3], "k2": [2, 3, 3, 3]}
k1, gamma, beta, k2 = weights = model.parameters(shapes)
h = model.conv2d(model.pad(x, pad=[1, 1, 1, 1], out="x.padded"), k1)
b = model.batch_norm(h, None, None, gamma, beta, training=True, out="b")
y = model.conv2d(model.pad(model.relu(b), pad=[1, 1, 1, 1], out="a.padded"), k2, out="y")
model.gradients(model.mse_loss(y, t, out="loss"), weights)
model.outputs({y: {0: "dp", 2: "sp"}, **{f"grad.{weight}": {} for weight in weights}})

plan = planproof.Plan(model, mesh={"dp": 2, "sp": 2})
p = plan.program()
block = {0: "dp", 2: "sp"}
x, t, k1, gamma, beta, k2 = p.inputs(x=block, t=block, k1={}, gamma={}, beta={}, k2={})


def mean(tensor, **out):
    return p.all_reduce(tensor, over=["dp", "sp"], reduce="avg", **out)


def halo(x):
    """Neighbours' rows around one's own; also what the backward pass needs."""
    last, first = p.narrow(x, dim=2, start=3, length=1), p.narrow(x, dim=2, start=0, length=1)
    above, below = p.permute(last, "sp", pairs=[[0, 1]]), p.permute(first, "sp", pairs=[[1, 0]])
    return p.cat(above, x, below, dim=2), above, below, last, first


h = p.conv2d(p.pad(halo(x)[0], pad=[1, 1], out="x.padded"), k1)
center = mean(center_local := p.mean(h, dim=[0, 2, 3]))
variance = mean(variance_local := p.channel_variance(h, center))
b = p.batch_norm(h, center, variance, gamma, beta)
a = p.relu(b)
a_halo, above, below, last, first = halo(a)
y = p.conv2d(p.pad(a_halo, pad=[1, 1], out="a.padded"), k2, out="y")

grad_halo, d_k2 = p.gradients(p.mse_loss(y, t), p.input("grad.loss"), [a_halo, k2])
of_above, grad_a, of_below = p.backward(a_halo, grad_halo, [above, a, below])
for row, grad, pair in ((last, of_above, [1, 0]), (first, of_below, [0, 1])):
    grad_a = grad_a + p.backward(row, p.permute(grad, "sp", pairs=[pair]), [a])
grad_b = p.backward(a, grad_a, {b: "grad.b"})
of_b = p.backward(b, grad_b, [h, center, variance, gamma, beta])
of_variance = p.backward(variance_local, mean(of_b[2]), [h, center])
of_center = p.backward(center_local, mean(of_b[1] + of_variance[1]), [h])
d_k1 = p.backward(h, of_b[0] + of_variance[0] + of_center, [k1])
for weight, grad in zip((k1, gamma, beta, k2), (d_k1, *of_b[3:], d_k2)):
    mean(grad, out=f"grad.{weight}")
# With the neighbours' rows; without it an index is not seen to be in range.

if __name__ == "__main__":
    print(planproof.verify(plan))
