#include "generator/model_config.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::generator {
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

// Brown et al., Language Models are Few-Shot Learners (arXiv 2005.14165), table 2.1, and section
// 2.1: layers, model dimension, heads; feed-forward width 4 x model dimension, sequences of 2,048
// tokens. Embeddings are tied (GPT-2, openai/gpt-2, src/model.py, from which it takes the
// architecture). The vocabulary of 50,257 is padded to 51,200 rows as in Megatron-LM (Narayanan et
// al., arXiv 2104.04473, section 5.1), so that it divides by tp; the padding counts as logits
// there, too.
ModelConfig Gpt3(int64_t layers, int64_t hidden, int64_t heads) {
  ModelConfig model;
  model.family = Family::kGpt;
  model.layers = layers;
  model.hidden = hidden;
  model.feed_forward = 4 * hidden;
  model.heads = heads;
  model.key_value_heads = heads;
  model.head_size = hidden / heads;
  model.vocabulary = 51200;
  model.sequence = 2048;
  model.norm_epsilon = "1e-5";
  model.tied_embedding = true;
  return model;
}

ModelConfig GptTiny() {
  ModelConfig model;
  model.family = Family::kGpt;
  model.key_value_heads = model.heads;
  model.feed_forward = 4 * model.hidden;
  model.tied_embedding = true;
  return model;
}

// Yang et al., Qwen2 Technical Report (arXiv 2407.10671), table 1; rows of the table (152,064), the
// norm's epsilon and the sequence length (32,768) are those of the released config.json files
// (huggingface.co/Qwen/Qwen2-7B, Qwen/Qwen2-72B).
ModelConfig Qwen2(int64_t layers, int64_t hidden, int64_t feed_forward, int64_t heads,
                  int64_t key_value_heads) {
  ModelConfig model;
  model.family = Family::kLlama;
  model.layers = layers;
  model.hidden = hidden;
  model.feed_forward = feed_forward;
  model.heads = heads;
  model.key_value_heads = key_value_heads;
  model.head_size = 128;
  model.vocabulary = 152064;
  model.sequence = 32768;
  model.norm_epsilon = "1e-6";
  model.query_key_value_bias = true;
  return model;
}

ModelConfig QwenTiny() {
  ModelConfig model;
  model.query_key_value_bias = true;
  return model;
}

const std::map<std::string, ModelConfig>& Named() {
  static const auto* const models = new std::map<std::string, ModelConfig>{
      {"deepseek-tiny", DeepSeekTiny()},
      {"deepseek-v3-16b", DeepSeek16B()},
      {"deepseek-v3-236b", DeepSeek236B()},
      {"deepseek-v3-671b", DeepSeek671B()},
      {"gpt-tiny", GptTiny()},
      {"gpt3-125m", Gpt3(12, 768, 12)},
      {"gpt3-350m", Gpt3(24, 1024, 16)},
      {"gpt3-760m", Gpt3(24, 1536, 16)},
      {"gpt3-1.3b", Gpt3(24, 2048, 16)},
      {"gpt3-2.7b", Gpt3(32, 2560, 32)},
      {"gpt3-6.7b", Gpt3(32, 4096, 32)},
      {"gpt3-13b", Gpt3(40, 5120, 40)},
      {"gpt3-175b", Gpt3(96, 12288, 96)},
      {"llama-tiny", ModelConfig()},
      {"llama3-8b", Llama3(32, 4096, 14336, 32)},
      {"llama3-70b", Llama3(80, 8192, 28672, 64)},
      {"llama3-405b", Llama3(126, 16384, 53248, 128)},
      {"qwen-tiny", QwenTiny()},
      {"qwen2-7b", Qwen2(28, 3584, 18944, 28, 4)},
      {"qwen2-72b", Qwen2(80, 8192, 29568, 64, 8)},
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

absl::StatusOr<ModelConfig> Resized(ModelConfig model, const ModelSizes& sizes) {
  const auto replace = [](int64_t size, int64_t* of_model) {
    if (size != 0) *of_model = size;
  };
  if (sizes.hidden > 0) {
    model.feed_forward = model.feed_forward * sizes.hidden / model.hidden;
  }
  const bool shared = model.key_value_heads < model.heads;
  replace(sizes.layers, &model.layers);
  replace(sizes.hidden, &model.hidden);
  replace(sizes.feed_forward, &model.feed_forward);
  replace(sizes.heads, &model.heads);
  // Without groups there are as many heads of keys and values.
  if (!shared) model.key_value_heads = model.heads;
  replace(sizes.key_value_heads, &model.key_value_heads);
  replace(sizes.vocabulary, &model.vocabulary);
  replace(sizes.sequence, &model.sequence);
  if (model.family != Family::kDeepSeek && (sizes.hidden != 0 || sizes.heads != 0)) {
    if (model.heads < 1 || model.hidden % model.heads != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "hidden size ", model.hidden, " does not divide by ", model.heads, " heads"));
    }
    model.head_size = model.hidden / model.heads;
  }
  return model;
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
  if (model.family == Family::kLlama && model.head_size % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("head size ", model.head_size, ": a rotary embedding turns pairs"));
  }
  return absl::OkStatus();
}

}  // namespace planproof::generator
