// Plans made from a model configuration and a strategy: the logical graph of one training iteration
// and the programs that the devices run (docs/generator.md).
#ifndef PLANPROOF_GENERATOR_GENERATE_H_
#define PLANPROOF_GENERATOR_GENERATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "generator/model_config.h"
#include "generator/strategy.h"

namespace planproof::generator {

struct GeneratedPlans {
  plan::PlanFile logical;   // role specification
  plan::PlanFile parallel;  // role plan
};

// InvalidArgument if model and strategy do not fit. The logical graph depends on the model, the
// training step and the number of sequences only.
absl::StatusOr<GeneratedPlans> Generate(const ModelConfig& model, const TrainingConfig& training,
                                        const Strategy& strategy);

// A published run: its model and strategy ("L1", ..., TrainVerify's table of plans).
struct Preset {
  std::string name;
  std::string model;  // of NamedModel
  Strategy strategy;
};
const std::vector<Preset>& Presets();

// Writes the binary form. NotFound if the file cannot be written.
absl::Status WriteBinary(const plan::PlanFile& file, const std::string& path);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_GENERATE_H_
