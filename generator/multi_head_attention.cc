#include "generator/multi_head_attention.h"

#include "generator/attention.h"
#include "generator/blocks.h"

namespace planproof::generator {

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
  Attention attention;
  attention.prefix = prefix;
  attention.head_size = model.head_size;
  attention.queries = {q};
  attention.keys = {k};
  attention.values = v;
  attention.weights_letters = shared ? "bgrst" : "bhst";
  attention.values_letters = shared ? "btgd" : "bthd";
  attention.mixed_letters = shared ? "bsgrd" : "bshd";
  attention.mixed = emitter->DimsOf(q);
  attention.scores = [&](const std::vector<Value>& queries, const std::vector<Value>& keys,
                         const std::string& suffix) {
    const Dim from = emitter->DimsOf(queries[0])[1], to = emitter->DimsOf(keys[0])[1];
    const Dims square =
        shared ? Dims{heads[0], groups, members, from, to} : Dims{heads[0], heads[2], from, to};
    const std::string name = prefix + "scores";
    return Einsum(shared ? "bsgrd,btgd->bgrst" : "bshd,bthd->bhst", {queries[0], keys[0]},
                  {name, square, false, false, name + suffix}, emitter);
  };
  return View(prefix + "joined", CausalAttention(attention, emitter),
              {heads[0], heads[1], layout.Tensor(model.heads * model.head_size)}, emitter);
}

}  // namespace planproof::generator
