#include "generator/strategy.h"

#include <algorithm>
#include <numeric>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "generator/schedule.h"
#include "sdfg/status_macros.h"

namespace planproof::generator {

bool Strategy::NeedsWholeSequence(int64_t layer) const {
  return sequence_parallel && std::find(whole_sequence_layers.begin(), whole_sequence_layers.end(),
                                        layer) != whole_sequence_layers.end();
}

int64_t Strategy::TensorParts() const {
  return tensor_shares.empty()
             ? tensor_parallel
             : std::accumulate(tensor_shares.begin(), tensor_shares.end(), int64_t{0});
}

absl::StatusOr<std::vector<int64_t>> LayersPerStage(const ModelConfig& model,
                                                    const Strategy& strategy) {
  const int64_t stages = strategy.pipeline_parallel * strategy.virtual_stages;
  if (!strategy.stage_layers.empty()) {
    int64_t sum = 0;
    for (int64_t layers : strategy.stage_layers) {
      if (layers < 1) return absl::InvalidArgumentError("stage layers: a stage has no layer");
      sum += layers;
    }
    if (static_cast<int64_t>(strategy.stage_layers.size()) != stages || sum != model.layers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "stage layers: ", strategy.stage_layers.size(), " stages with ", sum,
          " layers are given, ", stages, " stages with ", model.layers, " are expected"));
    }
    return strategy.stage_layers;
  }
  if (model.layers < stages) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.layers, " layers are too few for ", stages, " stages"));
  }
  // The embedding and the head count as layers of the first and the last stage where the layers do
  // not divide (Llama 3, section 3.3.2, "Balancing pipeline").
  std::vector<int64_t> layers(stages, model.layers / stages);
  int64_t rest = model.layers % stages;
  for (int64_t stage = 1; rest > 0 && stage + 1 < stages; ++stage, --rest) ++layers[stage];
  for (int64_t stage = 0; rest > 0; stage = stages - 1, --rest) ++layers[stage];
  return layers;
}

namespace {

absl::Status ValidateShares(const Strategy& strategy) {
  constexpr int64_t kMaxShares = int64_t{1} << 10;
  if (strategy.tensor_shares.empty()) return absl::OkStatus();
  if (strategy.tensor_parallel == 1) return absl::InvalidArgumentError("shares of tp: tp is 1");
  if (strategy.tensor_shares.size() != static_cast<size_t>(strategy.tensor_parallel)) {
    return absl::InvalidArgumentError(absl::StrCat("shares of tp: ", strategy.tensor_shares.size(),
                                                   " are given, tp is ", strategy.tensor_parallel));
  }
  for (int64_t share : strategy.tensor_shares) {
    if (share < 1 || share > kMaxShares) {
      return absl::InvalidArgumentError(
          absl::StrCat("shares of tp: ", share, " is not 1 to ", kMaxShares));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateZigzag(const ModelConfig& model, const Strategy& strategy) {
  if (!strategy.zigzag) return absl::OkStatus();
  const int64_t blocks = 2 * strategy.context_parallel;
  if (blocks == 2) return absl::InvalidArgumentError("zigzag order: cp is 1");
  const auto does_not_divide = [&](const char* by, int64_t parts) {
    return absl::InvalidArgumentError(absl::StrCat("zigzag order: sequence ", model.sequence,
                                                   " does not divide by ", by, " ", parts));
  };
  if (model.sequence % blocks != 0) return does_not_divide("2 cp =", blocks);
  const int64_t tp = strategy.sequence_parallel ? strategy.tensor_parallel : 2;
  if (tp == 1) return absl::OkStatus();
  if (tp % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("zigzag order with sequence parallelism: tp ", tp, " is odd"));
  }
  if (model.sequence % (blocks * (tp / 2)) != 0)
    return does_not_divide("cp * tp =", blocks / 2 * tp);
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const ModelConfig& model, const Strategy& strategy) {
  if (absl::Status status = Validate(model); !status.ok()) return status;
  const auto positive = [](const char* what, int64_t value) {
    return value >= 1 && value <= (int64_t{1} << 20)
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not 1 to 2^20"));
  };
  const auto divides = [](const char* what, int64_t extent, const char* axis, int64_t parts) {
    return extent % parts == 0 ? absl::OkStatus()
                               : absl::InvalidArgumentError(absl::StrCat(
                                     what, " ", extent, " does not divide by ", axis, " ", parts));
  };
  const int64_t tp = strategy.tensor_parallel;
  PLAN_RETURN_IF_ERROR(ValidateShares(strategy));
  const int64_t parts = strategy.TensorParts();
  const char* const cut = strategy.tensor_shares.empty() ? "tp" : "the sum of the shares of tp,";
  for (const absl::Status& status :
       {positive("dp", strategy.data_parallel), positive("tp", tp),
        positive("pp", strategy.pipeline_parallel), positive("cp", strategy.context_parallel),
        positive("ep", strategy.expert_parallel), positive("microbatches", strategy.microbatches),
        positive("virtual stages", strategy.virtual_stages),
        positive("sequences per microbatch", strategy.sequences_per_microbatch),
        CheckSchedule(strategy.schedule, strategy.pipeline_parallel, strategy.virtual_stages,
                      strategy.microbatches)}) {
    if (!status.ok()) return status;
  }
  if (strategy.zero < 0 || strategy.zero > 3) {
    return absl::InvalidArgumentError(absl::StrCat("zero is ", strategy.zero, ", not 0 to 3"));
  }
  const bool experts = model.family == Family::kDeepSeek;
  if (strategy.expert_parallel > 1 && !strategy.dispatch) {
    return absl::InvalidArgumentError(
        "ep is above 1 without dispatch: experts are then cut over tp; give dispatch, or tp");
  }
  if (strategy.dispatch && !experts) {
    return absl::InvalidArgumentError("dispatch: the model has no experts");
  }
  for (int64_t layer : strategy.whole_sequence_layers) {
    if (layer < 0 || layer >= model.layers) {
      return absl::InvalidArgumentError(absl::StrCat("there is no layer ", layer));
    }
  }
  const int64_t cp = strategy.context_parallel;
  PLAN_RETURN_IF_ERROR(ValidateZigzag(model, strategy));
  for (const absl::Status& status :
       {divides("heads", model.heads, cut, parts),
        experts ? strategy.dispatch ? divides("routed experts", model.routed_experts, "ep",
                                              strategy.expert_parallel)
                                    : divides("routed experts", model.routed_experts, cut, parts)
                : divides("key-value heads", model.key_value_heads, cut, parts),
        experts && strategy.dispatch ? divides("experts' width", model.expert_width, cut, parts)
                                     : absl::OkStatus(),
        experts ? divides("shared experts' width", model.shared_experts * model.expert_width, cut,
                          parts)
                : absl::OkStatus(),
        divides("feed-forward width", model.feed_forward, cut, parts),
        divides("vocabulary", model.vocabulary, cut, parts),
        strategy.sequence_parallel ? divides("sequence", model.sequence, "cp * tp", cp * tp)
                                   : divides("sequence", model.sequence, "cp", cp)}) {
    if (!status.ok()) return status;
  }
  // Digits, at most one point, a power of ten.
  static const auto* const decimal = new std::regex("[0-9]{1,20}(\\.[0-9]{1,20})?(e-?[0-9]{1,2})?");
  if (!std::regex_match(strategy.loss_scale, *decimal) ||
      strategy.loss_scale.find_first_of("123456789") >= strategy.loss_scale.find('e')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the loss scale \"", strategy.loss_scale, "\" is no positive number such as 65536 or 0.5"));
  }
  return LayersPerStage(model, strategy).status();
}

}  // namespace planproof::generator
