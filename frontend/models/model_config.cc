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

const std::map<std::string, ModelConfig>& Named() {
  static const auto* const models = new std::map<std::string, ModelConfig>{
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
