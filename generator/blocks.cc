#include "generator/blocks.h"

#include "absl/strings/str_cat.h"

namespace planproof::generator {
Value RmsNorm(const ModelConfig& model, const std::string& name, Value x, Emitter* emitter) {
  const Dims dims = emitter->DimsOf(x);
  const Value weight = emitter->Parameter(name + ".weight", {Layout::Whole(dims.back().extent)});
  return emitter->Apply({"rms_norm", {x, weight}, {{"eps", Number{model.norm_epsilon}}}},
                        {name, dims});
}

Value LayerNorm(const ModelConfig& model, const std::string& name, Value x, Emitter* emitter) {
  const Dims dims = emitter->DimsOf(x);
  const int64_t size = dims.back().extent;
  const Value weight = emitter->Parameter(name + ".weight", {Layout::Whole(size)});
  const Value bias = emitter->Parameter(name + ".bias", {Layout::Whole(size)});
  return emitter->Apply(
      {"layer_norm",
       {x, weight, bias},
       {{"normalized_shape", std::vector<int64_t>{size}}, {"eps", Number{model.norm_epsilon}}}},
      {name, dims});
}

Value Linear(const std::string& name, Value x, const Dim& out, Emitter* emitter, bool bias) {
  Dims dims = emitter->DimsOf(x);
  Call call{"linear", {x, emitter->Parameter(name + ".weight", {out, dims.back()})}};
  if (bias) call.in.push_back(emitter->Parameter(name + ".bias", {out}));
  dims.back() = out;
  return emitter->Apply(call, {name, dims});
}

Value LinearOut(const std::string& name, const std::string& weight, Value x, const Dims& outside,
                Emitter* emitter, bool bias) {
  const Dim size = Layout::Whole(outside.back().extent);
  const Value w = emitter->Parameter(weight + ".weight", {size, emitter->DimsOf(x).back()});
  const Call call{"linear", {x, w}};
  if (!bias) return emitter->ApplyAndLeave(call, {name, outside}, 1);
  const Value product = emitter->ApplyAndLeave(call, {name + ".product", outside}, 1);
  return emitter->Apply({"add", {product, emitter->Parameter(weight + ".bias", {size})}},
                        {name, outside});
}

Value View(const std::string& name, Value x, const Dims& dims, Emitter* emitter) {
  std::vector<int64_t> size;
  for (const Dim& dim : dims) size.push_back(emitter->layout().Local(dim));
  return emitter->Apply({"view", {x}, {{"size", size}}}, {name, dims});
}

Value Einsum(const std::string& equation, const std::vector<Argument>& in, const Out& out,
             Emitter* emitter) {
  return emitter->Apply({"einsum", in, {{"equation", equation}}}, out);
}

Value RotaryTurns(const ModelConfig& model, int64_t head_size, Emitter* emitter) {
  Declaration turns;
  turns.name = "rotary";
  turns.role = plan::ROLE_BUFFER;
  turns.dims = {emitter->layout().Sequence(model.sequence), Layout::Whole(head_size / 2),
                Layout::Whole(2)};
  return emitter->Read(turns);
}

Value SwiGlu(const std::string& prefix, const std::string& name, Value x, int64_t width,
             const Dims& outside, Emitter* emitter) {
  const Dim inner = emitter->layout().Tensor(width);
  const Value gate = Linear(prefix + "gate", x, inner, emitter);
  const Value up = Linear(prefix + "up", x, inner, emitter);
  const Dims dims = emitter->DimsOf(gate);
  const Value active = emitter->Apply({"silu", {gate}}, {prefix + "active", dims});
  const Value gated = emitter->Apply({"mul", {active, up}}, {prefix + "gated", dims});
  return LinearOut(prefix + name, prefix + "down", gated, outside, emitter);
}

Value TokenEmbedding(const ModelConfig& model, const std::string& name, Value ids,
                     Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dim vocabulary = layout.Tensor(model.vocabulary);
  const Value table =
      emitter->Parameter(name + ".weight", {vocabulary, Layout::Whole(model.hidden)});
  Call call{"embedding", {ids, table}};
  if (!vocabulary.over.empty()) {
    const std::string start = layout.StartOf(vocabulary);
    call.attributes = {{"start", Expression{start}},
                       {"stop", Expression{absl::StrCat(start, " + ", layout.Local(vocabulary))}}};
  }
  return emitter->ApplyAndLeave(call,
                                {name,
                                 {emitter->DimsOf(ids)[0], layout.SequenceOutside(model.sequence),
                                  Layout::Whole(model.hidden)}},
                                1);
}

Value LanguageModelLoss(const ModelConfig& model, const std::string& name,
                        const std::string& weight, Value x, int64_t sequences, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims tokens = {layout.Batch(sequences), layout.Sequence(model.sequence)};
  Declaration target{"target", plan::ROLE_INPUT, "int64", tokens};
  target.below = model.vocabulary;
  const Value targets = emitter->Read(target);
  const Value mask = emitter->Read({"loss_mask", plan::ROLE_INPUT, "float32", tokens});
  const Axes batch = AxesOf(tokens);

  // The number of tokens that count is known before the first backward pass; at least 1, so that a
  // batch without any has the loss 0.
  const Dims scalar = {Layout::Whole(1)};
  emitter->BeginPreparation();
  const Value kept_tokens =
      emitter->ApplyAndReduce({"sum", {mask}}, {"tokens.kept", scalar}, batch);
  const Value count =
      emitter->Apply({"clamp", {kept_tokens}, {{"min", Number{"1"}}}}, {"tokens", scalar});
  emitter->BeginChunk(emitter->stage(), emitter->chunk());

  const Dim vocabulary = layout.Tensor(model.vocabulary);
  const Value inside = emitter->EnterTensorParallel(x, 1);
  const Value table =
      emitter->Parameter(weight + ".weight", {vocabulary, Layout::Whole(model.hidden)});
  const Value logits = emitter->Apply({"linear", {inside, table}},
                                      {name, {tokens[0], emitter->DimsOf(inside)[1], vocabulary}});
  Value loss = kNoValue;
  if (vocabulary.over.empty()) {
    const Value log_sum =
        emitter->Apply({"logsumexp", {logits}, {{"dim", int64_t{-1}}}}, {"log_sum", tokens});
    const Value hit = emitter->Apply({"target_logit", {logits, targets}}, {"target_logit", tokens});
    loss = emitter->Apply({"sub", {log_sum, hit}}, {"token_loss", tokens});
  } else {
    // Megatron-LM, core/tensor_parallel/cross_entropy.py.
    const Value most =
        emitter->ApplyAndReduce({"vocab_parallel_max", {logits}, {}, true},
                                {"vocabulary.max", tokens, false, true}, vocabulary.over, "max");
    const Value sum =
        emitter->ApplyAndReduce({"vocab_parallel_sum_exp", {logits, most}},
                                {"vocabulary.sum_exp", tokens, false, true}, vocabulary.over);
    const Value hit =
        emitter->ApplyAndReduce({"vocab_parallel_target_logit",
                                 {logits, most, targets},
                                 {{"start", Expression{layout.StartOf(vocabulary)}}}},
                                {"vocabulary.target_logit", tokens, false, true}, vocabulary.over);
    loss = emitter->Apply({"vocab_parallel_loss", {sum, hit}}, {"token_loss", tokens});
  }
  const Value kept = emitter->Apply({"mul", {loss, mask}}, {"kept_loss", tokens});
  const Value total = emitter->ApplyTerm({"sum", {kept}}, {"loss_sum", scalar}, batch);
  return emitter->ApplyTerm({"div", {total, count}}, {"loss", scalar}, batch);
}

}  // namespace planproof::generator
