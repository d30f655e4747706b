#include "frontend/models/model_config.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::models {
namespace {

// Dubey et al., The Llama 3 Herd of Models (arXiv 2407.21783), table 3: layers, model dimension,
// FFN dimension, attention heads, key/value heads (8), vocabulary 128,000; sequences of 8,192
// tokens (section 3.4.1). The norm's epsilon is that of the released params.json.
ModelConfig Llama3(int64_t layers, int64_t hidden, int64_t feed_forward, int64_t heads) {
  ModelConfig model;
  model.family = Family::kLlama;
  model.layers = layers;
  model.hidden = hidden;
  model.feed_forward = feed_forward;
  model.heads = heads;
  model.key_value_heads = 8;
  model.head_size = hidden / heads;
  model.vocabulary = 128000;
  model.sequence = 8192;
  model.norm_epsilon = "1e-5";
  return model;
}

// github.com/deepseek-ai/DeepSeek-V3, inference/configs/config_{16B,236B,671B}.json and the
// defaults of inference/model.py; sequences of 16,384 tokens as in TrainVerify's runs.
ModelConfig DeepSeek(int64_t layers, int64_t hidden, int64_t feed_forward, int64_t heads,
                     int64_t query_rank, int64_t vocabulary) {
  ModelConfig model;
  model.family = Family::kDeepSeek;
  model.layers = layers;
  model.hidden = hidden;
  model.feed_forward = feed_forward;
  model.heads = heads;
  model.query_rank = query_rank;
  model.key_value_rank = 512;
  model.plain_size = 128;
  model.rotary_size = 64;
  model.value_size = 128;
  model.vocabulary = vocabulary;
  model.sequence = 16384;
  model.norm_epsilon = "1e-6";
  return model;
}

ModelConfig WithExperts(ModelConfig model, int64_t dense_layers, int64_t routed, int64_t shared,
                        int64_t active, int64_t groups, int64_t active_groups, int64_t width) {
  model.dense_layers = dense_layers;
  model.routed_experts = routed;
  model.shared_experts = shared;
  model.active_experts = active;
  model.expert_groups = groups;
  model.active_groups = active_groups;
  model.expert_width = width;
  return model;
}

ModelConfig DeepSeek16B() {
  return WithExperts(DeepSeek(27, 2048, 10944, 16, 0, 102400), 1, 64, 2, 6, 1, 1, 1408);
}

ModelConfig DeepSeek236B() {
  ModelConfig model =
      WithExperts(DeepSeek(60, 5120, 12288, 128, 1536, 102400), 1, 160, 2, 6, 8, 3, 1536);
  model.route_scale = "16";
  return model;
}

ModelConfig DeepSeek671B() {
  ModelConfig model =
      WithExperts(DeepSeek(61, 7168, 18432, 128, 1536, 129280), 3, 256, 1, 8, 8, 4, 2048);
  model.sigmoid_gate = true;
  model.gate_bias = true;
  model.route_scale = "2.5";
  return model;
}

ModelConfig DeepSeekTiny() {
  ModelConfig model;
  model.family = Family::kDeepSeek;
  model.query_rank = 6;
  model.sigmoid_gate = true;
  model.gate_bias = true;
  model.expert_groups = 4;
  model.active_groups = 2;
  model.route_scale = "2.5";
  return model;
}

const std::map<std::string, ModelConfig>& Named() {
  static const auto* const models = new std::map<std::string, ModelConfig>{
      {"deepseek-tiny", DeepSeekTiny()},
      {"deepseek-v3-16b", DeepSeek16B()},
      {"deepseek-v3-236b", DeepSeek236B()},
      {"deepseek-v3-671b", DeepSeek671B()},
      {"llama-tiny", ModelConfig()},
      {"llama3-8b", Llama3(32, 4096, 14336, 32)},
      {"llama3-70b", Llama3(80, 8192, 28672, 64)},
      {"llama3-405b", Llama3(126, 16384, 53248, 128)},
  };
  return *models;
}

}  // namespace

absl::StatusOr<ModelConfig> NamedModel(const std::string& name) {
  const auto found = Named().find(name);
  if (found != Named().end()) return found->second;
  return absl::NotFoundError(
      absl::StrCat("no model \"", name, "\"; there are ", absl::StrJoin(ModelNames(), ", ")));
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const auto& [name, model] : Named()) names.push_back(name);
  return names;
}

absl::Status Validate(const ModelConfig& model) {
  for (const auto& [what, value] : {std::pair{"layers", model.layers},
                                    {"hidden size", model.hidden},
                                    {"feed-forward width", model.feed_forward},
                                    {"heads", model.heads},
                                    {"key-value heads", model.key_value_heads},
                                    {"head size", model.head_size},
                                    {"vocabulary", model.vocabulary},
                                    {"sequence", model.sequence}}) {
    if (value < 1 || value > (int64_t{1} << 31)) {
      return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not 1 to 2^31"));
    }
  }
  if (model.family == Family::kDeepSeek) {
    for (const auto& [what, value] : {std::pair{"key-value rank", model.key_value_rank},
                                      {"plain head size", model.plain_size},
                                      {"rotary head size", model.rotary_size},
                                      {"value head size", model.value_size},
                                      {"routed experts", model.routed_experts},
                                      {"shared experts", model.shared_experts},
                                      {"active experts", model.active_experts},
                                      {"expert groups", model.expert_groups},
                                      {"active groups", model.active_groups},
                                      {"expert width", model.expert_width}}) {
      if (value < 1 || value > (int64_t{1} << 31)) {
        return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not 1 to 2^31"));
      }
    }
    if (model.query_rank < 0 || model.dense_layers < 0 || model.rotary_size % 2 != 0 ||
        model.routed_experts % model.expert_groups != 0 ||
        model.active_groups > model.expert_groups ||
        model.active_experts > model.routed_experts / model.expert_groups * model.active_groups) {
      return absl::InvalidArgumentError("the experts, groups or ranks do not fit each other");
    }
    return absl::OkStatus();
  }
  if (model.heads % model.key_value_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        model.heads, " heads cannot share ", model.key_value_heads, " key-value heads evenly"));
  }
  if (model.head_size % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("head size ", model.head_size, ": a rotary embedding turns pairs"));
  }
  return absl::OkStatus();
}

}  // namespace planproof::models
