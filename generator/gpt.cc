#include "generator/gpt.h"

#include "generator/blocks.h"
#include "generator/multi_head_attention.h"

namespace planproof::generator {

Value AddPositions(const ModelConfig& model, Value x, Emitter* emitter) {
  const Dims dims = emitter->DimsOf(x);
  Declaration ids{"position_ids", plan::ROLE_INPUT, "int64", {dims[0], dims[1]}};
  ids.below = model.sequence;
  const Value table = emitter->Parameter(
      "positions.weight", {Layout::Whole(model.sequence), Layout::Whole(model.hidden)});
  const Value rows =
      emitter->Apply({"embedding", {emitter->Read(ids), table}}, {"positions", dims});
  return emitter->Apply({"add", {x, rows}}, {"embedded", dims});
}

Value GptAttention(const ModelConfig& model, const std::string& prefix, Value x, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims outside = emitter->DimsOf(x);
  const Value a =
      emitter->EnterTensorParallel(LayerNorm(model, prefix + "attention_norm", x, emitter), 1);
  const Dims heads = {outside[0], layout.Sequence(model.sequence), layout.Tensor(model.heads),
                      Layout::Whole(model.head_size)};
  const auto project = [&](const std::string& name) {
    const Value flat = Linear(prefix + name, a, layout.Tensor(model.heads * model.head_size),
                              emitter, /*bias=*/true);
    return View(prefix + name + "_heads", flat, heads, emitter);
  };
  const Value q = project("q");
  const Value k = project("k");
  const Value v = project("v");
  const Value joined = MultiHeadAttention(model, prefix, q, k, v, emitter);
  const Value y =
      LinearOut(prefix + "attention", prefix + "o", joined, outside, emitter, /*bias=*/true);
  return emitter->Apply({"add", {x, y}}, {prefix + "attention_residual", outside});
}

Value GptFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                     Emitter* emitter) {
  const Dims outside = emitter->DimsOf(x);
  const Value a =
      emitter->EnterTensorParallel(LayerNorm(model, prefix + "ffn_norm", x, emitter), 1);
  const Value inner = Linear(prefix + "up", a, emitter->layout().Tensor(model.feed_forward),
                             emitter, /*bias=*/true);
  const Value active = emitter->Apply({"gelu", {inner}, {{"approximate", std::string("tanh")}}},
                                      {prefix + "active", emitter->DimsOf(inner)});
  const Value y =
      LinearOut(prefix + "feed_forward", prefix + "down", active, outside, emitter, /*bias=*/true);
  return emitter->Apply({"add", {x, y}}, {prefix + "output", outside});
}

}  // namespace planproof::generator
