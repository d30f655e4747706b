#include "generator/deepseek.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "generator/attention.h"
#include "generator/blocks.h"

namespace planproof::generator {
namespace {

// The last dimension of x, which is not cut, in two parts.
std::pair<Value, Value> SplitLast(Value x, const std::string& first, int64_t first_size,
                                  const std::string& second, int64_t second_size,
                                  Emitter* emitter) {
  Dims a = emitter->DimsOf(x);
  Dims b = a;
  a.back() = Layout::Whole(first_size);
  b.back() = Layout::Whole(second_size);
  const std::vector<Value> parts =
      emitter->Apply({"split",
                      {x},
                      {{"split_size_or_sections", std::vector<int64_t>{first_size, second_size}},
                       {"dim", int64_t{-1}}}},
                     {{first, a}, {second, b}});
  return {parts[0], parts[1]};
}

// The choice of experts for every token: weights and numbers, [tokens, active experts].
std::vector<Value> Gate(const ModelConfig& model, const std::string& prefix, Value tokens,
                        Emitter* emitter) {
  Call call{
      "gate_fw",
      {tokens, emitter->Parameter(prefix + "router.weight", {Layout::Whole(model.routed_experts),
                                                             Layout::Whole(model.hidden)})}};
  if (model.gate_bias) {
    Declaration bias{prefix + "router.bias",
                     plan::ROLE_BUFFER,
                     "float32",
                     {Layout::Whole(model.routed_experts)}};
    call.in.push_back(emitter->Read(bias));
  }
  call.attributes = {{"score_func", std::string(model.sigmoid_gate ? "sigmoid" : "softmax")},
                     {"n_groups", model.expert_groups},
                     {"topk_groups", model.active_groups},
                     {"topk", model.active_experts},
                     {"route_scale", Number{model.route_scale}}};
  const Dims chosen = {emitter->DimsOf(tokens)[0], Layout::Whole(model.active_experts)};
  return emitter->Apply(
      call, {{prefix + "routes", chosen}, {prefix + "experts", chosen, /*integer=*/true}});
}

// The choice for the tokens of this rank's sequences: all ranks of tp choose alike.
std::vector<Value> ChooseExperts(const ModelConfig& model, const std::string& prefix, Value normed,
                                 const Dim& tokens, Emitter* emitter) {
  const Value rows = View(prefix + "router_tokens", emitter->GatherReplicated(normed, 1),
                          {tokens, Layout::Whole(model.hidden)}, emitter);
  return Gate(model, prefix, rows, emitter);
}

// Tokens are sent to the ranks that hold the experts they chose, and the results back.
Value DispatchedExperts(const ModelConfig& model, const std::string& prefix, Value normed,
                        const Dims& outside, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dim& batch = outside[0];
  const Dim sequence = layout.Sequence(model.sequence), hidden = Layout::Whole(model.hidden);
  const Dim choices = Layout::Whole(model.active_experts);
  const std::vector<Value> choice =
      ChooseExperts(model, prefix, normed, Merged({batch, sequence}), emitter);
  const Dims chosen = {batch, sequence, choices};
  const Value routes =
      emitter->EnterTensorParallel(View(prefix + "route_weights", choice[0], chosen, emitter), 1);
  const Value ids = View(prefix + "route_experts", choice[1], chosen, emitter);

  const Axes& over = layout.expert_axes();
  const Dim home = {batch.extent, Minus(batch.over, over)};
  const Dim whole = Layout::Whole(model.routed_experts);
  const Dim experts = layout.Experts(model.routed_experts);
  const Dim width = layout.ExpertWidth(model.expert_width);
  const std::string name = prefix + "routed.";
  const Value slots = emitter->Apply({"dispatch_tokens",
                                      {emitter->EnterTensorParallel(normed, 1), ids},
                                      {{"n_routed_experts", model.routed_experts}}},
                                     {prefix + "slots", {batch, whole, sequence, choices, hidden}});
  const Out received{prefix + "slots" + (over.empty() ? "" : "@received"),
                     {home, experts, sequence, choices, hidden}};
  const Value inputs = emitter->AllToAll(slots, received, over, 1, 0);
  const Dims inner = {home, experts, sequence, choices, width};
  const auto project = [&](const std::string& which) {
    const Value weight = emitter->Parameter(name + which + ".weight", {experts, width, hidden});
    return Einsum("besak,efk->besaf", {inputs, weight}, {name + which, inner}, emitter);
  };
  const Value gate = project("gate");
  const Value up = project("up");
  const Value active = emitter->Apply({"silu", {gate}}, {name + "active", inner});
  const Value gated = emitter->Apply({"mul", {active, up}}, {name + "gated", inner});
  const Value down = emitter->Parameter(name + "down.weight", {experts, hidden, width});
  const Value made =
      emitter->ApplyTerm({"einsum", {gated, down}, {{"equation", std::string("besaf,ehf->besah")}}},
                         {name + "made", {home, experts, sequence, choices, hidden}}, width.over);
  const Out back{name + "made" + (over.empty() ? "" : "@returned"),
                 {batch, whole, sequence, choices, hidden}};
  const Value returned = emitter->AllToAll(made, back, over, 0, 1);
  return emitter->ApplyAndLeave({"combine_tokens", {returned, ids, routes}},
                                {prefix + "routed", outside}, 1);
}

// Every rank of tp computes its own experts for all tokens.
Value MaskedExperts(const ModelConfig& model, const std::string& prefix, Value normed,
                    const Dims& outside, Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dim rows = Merged({outside[0], layout.Sequence(model.sequence)});
  const Dims tokens = {rows, Layout::Whole(model.hidden)};
  const std::vector<Value> choice = ChooseExperts(model, prefix, normed, rows, emitter);
  const Value routes = emitter->EnterTensorParallel(choice[0], 0);
  const Value inputs =
      View(prefix + "expert_tokens", emitter->EnterTensorParallel(normed, 1), tokens, emitter);
  const Dim experts = layout.Experts(model.routed_experts);
  const Dim width = layout.ExpertWidth(model.expert_width), hidden = Layout::Whole(model.hidden);
  const std::string name = prefix + "routed.";
  Call call{"nnscaler_moe_gmm",
            {inputs, choice[1], routes,
             emitter->Parameter(name + "gate.weight", {experts, width, hidden}),
             emitter->Parameter(name + "up.weight", {experts, width, hidden}),
             emitter->Parameter(name + "down.weight", {experts, hidden, width})},
            {{"n_routed_experts", model.routed_experts}}};
  if (experts.over.empty()) {
    call.attributes.push_back({"local_expert_start", int64_t{0}});
    call.attributes.push_back({"local_expert_end", model.routed_experts});
  } else {
    const int64_t local = layout.Local(experts);
    const std::string start = layout.StartOf(experts);
    call.attributes.push_back({"local_expert_start", Expression{start}});
    call.attributes.push_back({"local_expert_end", Expression{absl::StrCat(start, " + ", local)}});
  }
  const Value flat = emitter->ApplyTerm(call, {prefix + "routed_tokens", tokens}, experts.over);
  const Dims whole = {outside[0], layout.Sequence(model.sequence), hidden};
  std::vector<int64_t> size;
  for (const Dim& dim : whole) size.push_back(layout.Local(dim));
  return emitter->ApplyAndLeave({"view", {flat}, {{"size", size}}}, {prefix + "routed", outside},
                                1);
}

}  // namespace

Value LatentAttention(const ModelConfig& model, const std::string& prefix, Value x,
                      Emitter* emitter) {
  const Layout& layout = emitter->layout();
  const Dims outside = emitter->DimsOf(x);
  const Dim sequence = layout.Sequence(model.sequence), heads = layout.Tensor(model.heads);
  const int64_t query_size = model.plain_size + model.rotary_size;
  const Value normed = RmsNorm(model, prefix + "attention_norm", x, emitter);
  const auto by_head = [&](const std::string& name, Value flat, int64_t size) {
    return View(prefix + name, flat, {outside[0], sequence, heads, Layout::Whole(size)}, emitter);
  };

  Value compressed = normed;
  if (model.query_rank > 0) {
    compressed = RmsNorm(
        model, prefix + "q_norm",
        Linear(prefix + "q_down", normed, Layout::Whole(model.query_rank), emitter), emitter);
  }
  const Value q = Linear(prefix + "q", emitter->EnterTensorParallel(compressed, 1),
                         layout.Tensor(model.heads * query_size), emitter);
  const std::pair<Value, Value> q_parts =
      SplitLast(by_head("q_heads", q, query_size), prefix + "q_plain", model.plain_size,
                prefix + "q_raw", model.rotary_size, emitter);

  const Value down = Linear(prefix + "kv_down", normed,
                            Layout::Whole(model.key_value_rank + model.rotary_size), emitter);
  const auto [latent, k_raw] = SplitLast(down, prefix + "kv_latent", model.key_value_rank,
                                         prefix + "k_raw", model.rotary_size, emitter);
  const Value kv_norm = RmsNorm(model, prefix + "kv_norm", latent, emitter);
  const Value kv =
      Linear(prefix + "kv", emitter->EnterTensorParallel(kv_norm, 1),
             layout.Tensor(model.heads * (model.plain_size + model.value_size)), emitter);
  const auto [k_plain, v] =
      SplitLast(by_head("kv_heads", kv, model.plain_size + model.value_size), prefix + "k_plain",
                model.plain_size, prefix + "v", model.value_size, emitter);
  const Dim rotary = Layout::Whole(model.rotary_size);
  const Value k_head = View(prefix + "k_head", emitter->EnterTensorParallel(k_raw, 1),
                            {outside[0], sequence, Layout::Whole(1), rotary}, emitter);
  const std::vector<Value> turned =
      emitter->Apply({"apply_rotary_emb",
                      {q_parts.second, k_head, RotaryTurns(model, model.rotary_size, emitter)}},
                     {{prefix + "q_rotary", emitter->DimsOf(q_parts.second)},
                      {prefix + "k_rotary", emitter->DimsOf(k_head)}});

  Attention attention;
  attention.prefix = prefix;
  attention.head_size = query_size;
  attention.queries = {q_parts.first, turned[0]};
  attention.keys = {k_plain, turned[1]};
  attention.values = v;
  attention.weights_letters = "bhst";
  attention.values_letters = "bthd";
  attention.mixed_letters = "bshd";
  attention.mixed = emitter->DimsOf(v);
  attention.scores = [&](const std::vector<Value>& queries, const std::vector<Value>& keys,
                         const std::string& suffix) {
    const Dim from = emitter->DimsOf(queries[0])[1], to = emitter->DimsOf(keys[0])[1];
    const Dims square = {outside[0], heads, from, to};
    const auto out = [&](const std::string& name, const Dims& dims) {
      return Out{prefix + name, dims, false, false, prefix + name + suffix};
    };
    const Value plain =
        Einsum("bshd,bthd->bhst", {queries[0], keys[0]}, out("scores_plain", square), emitter);
    const Dims rows = {outside[0], to, rotary};
    std::vector<int64_t> size;
    for (const Dim& dim : rows) size.push_back(layout.Local(dim));
    Out turned_rows = out("k_turned", rows);
    turned_rows.local_gradient = !suffix.empty();  // of this rank's queries only
    const Value k_turned = emitter->Apply({"view", {keys[1]}, {{"size", size}}}, turned_rows);
    const Value turns =
        Einsum("bshd,btd->bhst", {queries[1], k_turned}, out("scores_rotary", square), emitter);
    return emitter->Apply({"add", {plain, turns}}, out("scores", square));
  };
  const Value mixed = CausalAttention(attention, emitter);
  const Value joined =
      View(prefix + "joined", mixed,
           {outside[0], sequence, layout.Tensor(model.heads * model.value_size)}, emitter);
  const Value y = LinearOut(prefix + "attention", prefix + "o", joined, outside, emitter);
  return emitter->Apply({"add", {x, y}}, {prefix + "attention_residual", outside});
}

Value ExpertsFeedForward(const ModelConfig& model, const std::string& prefix, Value x,
                         Emitter* emitter) {
  const Dims outside = emitter->DimsOf(x);
  const Value normed = RmsNorm(model, prefix + "ffn_norm", x, emitter);
  const Value routed = model.dispatch ? DispatchedExperts(model, prefix, normed, outside, emitter)
                                      : MaskedExperts(model, prefix, normed, outside, emitter);
  const Value shared =
      SwiGlu(prefix + "shared.", "feed_forward", emitter->EnterTensorParallel(normed, 1),
             model.shared_experts * model.expert_width, outside, emitter);
  const Value y = emitter->Apply({"add", {routed, shared}}, {prefix + "feed_forward", outside});
  return emitter->Apply({"add", {x, y}}, {prefix + "output", outside});
}

}  // namespace planproof::generator
