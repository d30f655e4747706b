// Describes a generated model: its family, its dimensions, the training step. Says nothing about
// how it is distributed (strategy.h).
#ifndef PLANPROOF_GENERATOR_MODEL_CONFIG_H_
#define PLANPROOF_GENERATOR_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planproof::generator {

enum class Family : uint8_t { kLlama, kDeepSeek, kGpt };

struct ModelConfig {
  Family family = Family::kLlama;
  int64_t layers = 2;
  int64_t hidden = 16;
  int64_t feed_forward = 32;  // of one dense layer
  int64_t heads = 4;
  int64_t key_value_heads = 2;
  int64_t head_size = 4;
  int64_t vocabulary = 32;
  int64_t sequence = 8;
  std::string norm_epsilon = "1e-5";  // exact decimal
  bool query_key_value_bias = false;  // kLlama: as in Qwen2
  bool tied_embedding = false;        // the output layer's weight is the embedding's

  // Multi-head latent attention (kDeepSeek): ranks of the compressed queries (0: not compressed)
  // and keys and values; sizes of a query head's plain and rotary parts and of a value head.
  int64_t query_rank = 0;
  int64_t key_value_rank = 4;
  int64_t plain_size = 4;
  int64_t rotary_size = 2;
  int64_t value_size = 4;
  // Mixture of experts, in the layers after the first `dense_layers`.
  int64_t dense_layers = 1;
  int64_t routed_experts = 8;
  int64_t shared_experts = 1;
  int64_t active_experts = 2;
  int64_t expert_groups = 1;
  int64_t active_groups = 1;
  int64_t expert_width = 8;
  bool dispatch = false;          // tokens are sent to their experts' slots; else all are computed
  bool sigmoid_gate = false;      // otherwise softmax
  bool gate_bias = false;         // a bias that counts for the choice only
  std::string route_scale = "1";  // exact decimal
};

// The optimizer step that ends an iteration. Numbers are exact decimals.
struct TrainingConfig {
  std::string learning_rate = "3e-4";
  std::string beta1 = "0.9";
  std::string beta2 = "0.95";
  std::string epsilon = "1e-8";
  std::string weight_decay = "0.1";
  std::string clip_norm = "1";
  int64_t step = 1;  // AdamW's step number, from 1
};

// The published dimensions of a model: "llama3-8b", "gpt3-175b", ... NotFound lists the names that
// there are.
absl::StatusOr<ModelConfig> NamedModel(const std::string& name);
std::vector<std::string> ModelNames();

// Dimensions that replace a model's own; 0: the model's.
struct ModelSizes {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t feed_forward = 0;  // if not given, in the model's proportion to a new hidden size
  int64_t heads = 0;
  int64_t key_value_heads = 0;
  int64_t vocabulary = 0;
  int64_t sequence = 0;
};

// The model with other dimensions. Except for kDeepSeek, whose heads have a size of their own,
// heads share a new hidden size. InvalidArgument if they do not divide it.
absl::StatusOr<ModelConfig> Resized(ModelConfig model, const ModelSizes& sizes);

// InvalidArgument if the dimensions contradict each other.
absl::Status Validate(const ModelConfig& model);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_MODEL_CONFIG_H_
