// Describes how a model is distributed. Every choice is off, or of degree 1, by default.
#ifndef PLANPROOF_GENERATOR_STRATEGY_H_
#define PLANPROOF_GENERATOR_STRATEGY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "generator/model_config.h"
#include "lineage/pipeline_schedule.h"

namespace planproof::generator {

struct Strategy {
  int64_t data_parallel = 1;
  int64_t tensor_parallel = 1;
  int64_t pipeline_parallel = 1;
  int64_t microbatches = 1;
  int64_t sequences_per_microbatch = 1;
  // Rank r of tp holds tensor_shares[r] parts of their sum of every dimension that tp cuts (heads,
  // widths, the vocabulary, experts). Empty: all hold the same.
  std::vector<int64_t> tensor_shares;
  // Megatron's sequence parallelism: between tensor-parallel regions each rank of tp holds its part
  // of the sequence (Korthikanti et al., Reducing Activation Recomputation, section 4.2.2).
  bool sequence_parallel = false;
  // Ranks that hold parts of every sequence. Attention gathers keys and values of all of them
  // (Llama 3, section 3.3.2, "Context parallelism for better long context training").
  // With `ring` they travel around the ranks instead, one block at a time (Liu et al., Ring
  // Attention, arXiv:2310.01889).
  int64_t context_parallel = 1;
  bool ring = false;
  // With `zigzag` rank r holds blocks r and 2 cp - 1 - r of 2 cp, so that under a causal mask all
  // ranks have the same work (Llama 3, section 3.3.2; Brandon et al., Striped Attention,
  // arXiv:2311.09431, discuss the balance).
  bool zigzag = false;
  // Mixture of experts. With `dispatch`, every sequence's tokens are sent to the ranks of ep that
  // hold the experts they chose, and the results back; ep counts as data parallelism elsewhere.
  // Otherwise experts are cut over tp and every rank computes its own for all tokens.
  int64_t expert_parallel = 1;
  bool dispatch = false;
  // ZeRO (Rajbhandari et al.), over dp: 1 cuts optimizer states, 2 gradients, 3 parameters as well.
  int zero = 0;
  // Layers are computed again in the backward pass from their inputs.
  bool recompute = false;
  // Layers without sequence parallelism, by number.
  std::vector<int64_t> whole_sequence_layers;
  // The order of microbatches that the plan states; kAny: none.
  lineage::PipelineSchedule schedule = lineage::PipelineSchedule::kAny;
  // Chunks of layers per pipeline stage: stage s holds the layers of virtual stages s, s + pp, ...
  int64_t virtual_stages = 1;
  // Layers of each (virtual) pipeline stage; empty: as even as possible, shorter stages at both
  // ends.
  std::vector<int64_t> stage_layers;

  bool NeedsWholeSequence(int64_t layer) const;
  // Exact decimal by which the loss is multiplied before the backward pass; gradients are divided
  // by it before their norm is taken (Micikevicius et al., Mixed Precision Training, arXiv
  // 1710.03740, section 3.2).
  std::string loss_scale = "1";

  // Into how many equal parts the dimensions that tp cuts are divided.
  int64_t TensorParts() const;
  // Sequences of one iteration.
  int64_t Batch() const {
    return data_parallel * expert_parallel * microbatches * sequences_per_microbatch;
  }
};

// The number of layers of each virtual stage, pipeline_parallel * virtual_stages of them.
// InvalidArgument if `stage_layers` does not fit the model.
absl::StatusOr<std::vector<int64_t>> LayersPerStage(const ModelConfig& model,
                                                    const Strategy& strategy);

// InvalidArgument if the model cannot be cut in this way; says which dimension does not divide.
absl::Status Validate(const ModelConfig& model, const Strategy& strategy);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_STRATEGY_H_
