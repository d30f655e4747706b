#include "frontend/models/strategy.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace planproof::models {

absl::StatusOr<std::vector<int64_t>> LayersPerStage(const ModelConfig& model,
                                                    const Strategy& strategy) {
  const int64_t stages = strategy.pipeline_parallel;
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
  for (const absl::Status& status :
       {positive("dp", strategy.data_parallel), positive("tp", tp),
        positive("pp", strategy.pipeline_parallel), positive("microbatches", strategy.microbatches),
        positive("sequences per microbatch", strategy.sequences_per_microbatch)}) {
    if (!status.ok()) return status;
  }
  for (const absl::Status& status :
       {divides("heads", model.heads, "tp", tp),
        model.family == Family::kDeepSeek
            ? divides("routed experts", model.routed_experts, "tp", tp)
            : divides("key-value heads", model.key_value_heads, "tp", tp),
        model.family == Family::kDeepSeek
            ? divides("shared experts' width", model.shared_experts * model.expert_width, "tp", tp)
            : absl::OkStatus(),
        divides("feed-forward width", model.feed_forward, "tp", tp),
        divides("vocabulary", model.vocabulary, "tp", tp),
        strategy.sequence_parallel ? divides("sequence", model.sequence, "tp", tp)
                                   : absl::OkStatus()}) {
    if (!status.ok()) return status;
  }
  return LayersPerStage(model, strategy).status();
}

}  // namespace planproof::models
