#include "generator/llama.h"

#include "generator/attention.h"
#include "generator/blocks.h"
#include "generator/multi_head_attention.h"

namespace planproof::generator {

Value LlamaAttention(const ModelConfig& model, const std::string& prefix, Value x,
                     Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims outside = emitter->DimsOf(x);
  const Dim& batch = outside[0];
  const Dim sequence = layout.Sequence(model.sequence);
  const Dim head = Layout::Whole(model.head_size);

  const Value a =
      emitter->EnterTensorParallel(RmsNorm(model, prefix + "attention_norm", x, emitter), 1);
  const auto project = [&](const std::string& name, int64_t count) {
    return Linear(prefix + name, a, layout.Tensor(count * model.head_size), emitter,
                  model.query_key_value_bias);
  };
  const auto heads = [&](const std::string& name, Value flat, int64_t count) {
    return View(prefix + name, flat, {batch, sequence, layout.Tensor(count), head}, emitter);
  };
  const Value q = heads("q_heads", project("q", model.heads), model.heads);
  const Value k = heads("k_heads", project("k", model.key_value_heads), model.key_value_heads);
  const Value v = heads("v_heads", project("v", model.key_value_heads), model.key_value_heads);

  const std::vector<Value> turned = emitter->Apply(
      {"apply_rotary_emb", {q, k, RotaryTurns(model, model.head_size, emitter)}},
      {{prefix + "q_rotary", emitter->DimsOf(q)}, {prefix + "k_rotary", emitter->DimsOf(k)}});

  const Value joined = MultiHeadAttention(model, prefix, turned[0], turned[1], v, emitter);
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

}  // namespace planproof::generator
