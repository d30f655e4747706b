"""Input and output embeddings are one table, cut by its vocabulary over tp; the first and the last
pipeline stage hold a copy each and add their gradients."""
import planproof

model = planproof.Specification()
ids = model.input("ids", "int64[4, 6]", premise=(0, 32))
target = model.input("target", "int64[24]", premise=(0, 32))
table, w = model.parameters(table=[32, 8], w=[8, 8])
a = model.silu(model.linear(model.embedding(ids, table), w))
tokens = model.view(a, size=[24, 8])
loss = model.cross_entropy(model.linear(tokens, table), target, out="loss")
model.gradients(loss, [table, w])
model.outputs({loss: {}, "grad.table": {0: "tp"}, "grad.w": {}})

plan = planproof.Plan(model, mesh={"pp": 2, "tp": 2})
first, last = plan.program("first", {"pp": 0}), plan.program("last", {"pp": 1})
ids, table, w = first.inputs(ids={}, table={0: "tp"}, w={})
e_part = first.embedding(ids, table, start="=tp * 16", stop="=tp * 16 + 16")
e = first.all_reduce(e_part, over="tp")
a = first.silu(first.linear(e, w))

target, head = last.inputs(target={}, table={0: "tp"})
received = last.move(a)
tokens = last.view(received, size=[24, 8])
logits = last.linear(tokens, head)
m = last.all_reduce(last.vocab_parallel_max(logits), over="tp", reduce="max")
s_part = last.vocab_parallel_sum_exp(logits, m)
s = last.all_reduce(s_part, over="tp")
l_part = last.vocab_parallel_target_logit(logits, m, target, start="=tp * 16")
l = last.all_reduce(l_part, over="tp")
loss = last.mean(last.vocab_parallel_loss(s, l), out="loss")
grads = last.gradients(loss, last.input("grad.loss"), [s, l])
grad_tokens, d_head = last.gradients([s_part, l_part], grads, [tokens, head])
grad_a = last.backward(tokens, last.all_reduce(grad_tokens, over="tp"), [received])

grad_e, _ = first.gradients(a, first.move(grad_a), {e: "grad.e", w: "grad.w"})
d_table = first.backward(e_part, grad_e, [table])
plan.all_reduce([d_table, d_head], out="grad.table")

if __name__ == "__main__":
    print(planproof.verify(plan))
