#include "frontend/models/multi_head_attention.h"

#include "frontend/models/blocks.h"

namespace planproof::models {

Value MultiHeadAttention(const ModelConfig& model, const std::string& prefix, Value q, Value k,
                         Value v, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims heads = emitter->DimsOf(q);
  const bool shared = model.key_value_heads < model.heads;
  // Each key-value head serves a group of query heads.
  const Dim groups = layout.Tensor(model.key_value_heads);
  const Dim members = Layout::Whole(model.heads / model.key_value_heads);
  if (shared) {
    q = View(prefix + "q_groups", q, {heads[0], heads[1], groups, members, heads[3]}, emitter);
  }
  const Dim keys = Layout::Whole(model.sequence);
  const Dims square = shared ? Dims{heads[0], groups, members, heads[1], keys}
                             : Dims{heads[0], heads[2], heads[1], keys};
  const Value scores = Einsum(shared ? "bsgrd,btgd->bgrst" : "bshd,bthd->bhst", {q, k},
                              {prefix + "scores", square}, emitter);
  const Value weights = CausalSoftmax(prefix, scores, model.head_size, emitter);
  const Value mixed = Einsum(shared ? "bgrst,btgd->bsgrd" : "bhst,bthd->bshd", {weights, v},
                             {prefix + "mixed", emitter->DimsOf(q)}, emitter);
  return View(prefix + "joined", mixed,
              {heads[0], heads[1], layout.Tensor(model.heads * model.head_size)}, emitter);
}

}  // namespace planproof::models
