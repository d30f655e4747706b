"""Mixture of eight experts, top 2, four ranks with two experts each; tokens travel by all-to-all
and come back."""
import planproof

model = planproof.Specification()
x, t = model.inputs(x=[8, 4, 6], t=[8, 4, 6])
router, up, down = model.parameters(router=[8, 6], up=[8, 12, 6], down=[8, 6, 12])


def gate(graph, x, router, sequences):
    tokens = graph.view(x, size=[sequences * 4, 6])
    weight, index = graph.gate_fw(tokens, router, topk=2)
    return (graph.view(flat, size=[sequences, 4, 2]) for flat in (weight, index))


weight, index = gate(model, x, router, 8)
slots = model.dispatch_tokens(x, index, n_routed_experts=8)
act = model.silu(model.einsum(slots, up, equation="besak,efk->besaf"))
z = model.einsum(act, down, equation="besaf,ekf->besak")
y = model.combine_tokens(z, index, weight, out="y")
loss = model.mse_loss(y, t, reduction="sum", out="loss")
model.gradients(loss, [router, up, down])
ours = {0: "ep"}
model.outputs({y: ours, "grad.router": {}, "grad.up": ours, "grad.down": ours})

plan = planproof.Plan(model, mesh={"ep": 4})
p = plan.program()
x, t, router, up, down = p.inputs(x=ours, t=ours, router={}, up=ours, down=ours)
weight, index = gate(p, x, router, 2)
slots = p.dispatch_tokens(x, index, n_routed_experts=8)
here = p.all_to_all(slots, over="ep", split_dim=1, concat_dim=0)
act = p.silu(p.einsum(here, up, equation="besak,efk->besaf"))
z_here = p.einsum(act, down, equation="besaf,ekf->besak")
z = p.all_to_all(z_here, over="ep", split_dim=0, concat_dim=1)
y = p.combine_tokens(z, index, weight, out="y")
loss = p.mse_loss(y, t, reduction="sum", out="loss")
grad_z, d_router = p.gradients(loss, p.input("grad.loss"), [z, router])
grad_z = p.all_to_all(grad_z, over="ep", split_dim=1, concat_dim=0)
p.gradients(z_here, grad_z, {up: "grad.up", down: "grad.down"})
p.all_reduce(d_router, over="ep", out="grad.router")

if __name__ == "__main__":
    print(planproof.verify(plan))
