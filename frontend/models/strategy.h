// How a model is distributed. Every choice is off, or of degree 1, by default.
#ifndef PLANPROOF_FRONTEND_MODELS_STRATEGY_H_
#define PLANPROOF_FRONTEND_MODELS_STRATEGY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/models/model_config.h"

namespace planproof::models {

struct Strategy {
  int64_t data_parallel = 1;
  int64_t tensor_parallel = 1;
  int64_t pipeline_parallel = 1;
  int64_t microbatches = 1;
  int64_t sequences_per_microbatch = 1;
  // Megatron's sequence parallelism: between tensor-parallel regions each rank of tp holds its part
  // of the sequence (Korthikanti et al., Reducing Activation Recomputation, section 4.2.2).
  bool sequence_parallel = false;
  // Layers of each pipeline stage; empty: as even as possible, shorter stages at both ends.
  std::vector<int64_t> stage_layers;

  // Sequences of one iteration.
  int64_t Batch() const { return data_parallel * microbatches * sequences_per_microbatch; }
};

// The number of layers of each stage. InvalidArgument if `stage_layers` does not fit the model.
absl::StatusOr<std::vector<int64_t>> LayersPerStage(const ModelConfig& model,
                                                    const Strategy& strategy);

// InvalidArgument if the model cannot be cut in this way; says which dimension does not divide.
absl::Status Validate(const ModelConfig& model, const Strategy& strategy);

}  // namespace planproof::models

#endif  // PLANPROOF_FRONTEND_MODELS_STRATEGY_H_
