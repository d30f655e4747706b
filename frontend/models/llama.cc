#include "frontend/models/llama.h"

#include "frontend/models/blocks.h"

namespace planproof::models {

Value LlamaAttention(const ModelConfig& model, const std::string& prefix, Value x,
                     Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims outside = emitter->DimsOf(x);
  const Dim& batch = outside[0];
  const Dim sequence = layout.Sequence(model.sequence);
  const int64_t queries = model.heads * model.head_size;
  const int64_t keys = model.key_value_heads * model.head_size;
  const Dim head = Layout::Whole(model.head_size);

  const Value a =
      emitter->EnterTensorParallel(RmsNorm(model, prefix + "attention_norm", x, emitter), 1);
  const auto project = [&](const std::string& name, int64_t width) {
    return Linear(prefix + name, a, layout.Tensor(width), emitter);
  };
  const auto heads = [&](const std::string& name, Value flat, int64_t count) {
    return View(prefix + name, flat, {batch, sequence, layout.Tensor(count), head}, emitter);
  };
  const Value q = heads("q_heads", project("q", queries), model.heads);
  const Value k = heads("k_heads", project("k", keys), model.key_value_heads);
  const Value v = heads("v_heads", project("v", keys), model.key_value_heads);

  const std::vector<Value> turned = emitter->Apply(
      {"apply_rotary_emb", {q, k, RotaryTurns(model, model.head_size, emitter)}},
      {{prefix + "q_rotary", emitter->DimsOf(q)}, {prefix + "k_rotary", emitter->DimsOf(k)}});

  // Each key-value head serves a group of query heads.
  const Dim groups = layout.Tensor(model.key_value_heads);
  const Dim members = Layout::Whole(model.heads / model.key_value_heads);
  const Value grouped =
      View(prefix + "q_groups", turned[0], {batch, sequence, groups, members, head}, emitter);
  const Dims square = {batch, groups, members, sequence, Layout::Whole(model.sequence)};
  const Value scores =
      Einsum("bsgrd,btgd->bgrst", {grouped, turned[1]}, {prefix + "scores", square}, emitter);
  const Value weights = CausalSoftmax(prefix, scores, model.head_size, emitter);
  const Value mixed = Einsum("bgrst,btgd->bsgrd", {weights, v},
                             {prefix + "mixed", emitter->DimsOf(grouped)}, emitter);
  const Value joined =
      View(prefix + "joined", mixed, {batch, sequence, layout.Tensor(queries)}, emitter);
  const Value y = LinearOut(prefix + "attention", prefix + "o", joined, outside, emitter);
  return emitter->Apply({"add", {x, y}}, {prefix + "attention_residual", outside});
}

Value LlamaFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                       Emitter* emitter) {
  const Dims outside = emitter->DimsOf(x);
  const Value a = emitter->EnterTensorParallel(RmsNorm(model, prefix + "ffn_norm", x, emitter), 1);
  const Value y = SwiGlu(prefix, "feed_forward", a, model.feed_forward, outside, emitter);
  return emitter->Apply({"add", {x, y}}, {prefix + "output", outside});
}

}  // namespace planproof::models
