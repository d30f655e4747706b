// Emits the end of an iteration: gradients reduced over ranks and microbatches, the global norm,
// clipping, AdamW.
#ifndef PLANPROOF_GENERATOR_UPDATE_H_
#define PLANPROOF_GENERATOR_UPDATE_H_

#include <map>
#include <string>
#include <vector>

#include "generator/backward.h"
#include "generator/emitter.h"
#include "generator/model_config.h"

namespace planproof::generator {

// A trained tensor or a moment of one, and the tensor that replaces it.
struct UpdatedTensor {
  std::string name;
  std::string updated;
};

// Appends the reductions and the optimizer step to the programs. `gradients` is what the backward
// pass left (in the logical graph nothing: its gradients are whole). Defines `grad_norm` on every
// stage. The order is that of trace()->parameters.
std::vector<UpdatedTensor> WriteUpdates(const TrainingConfig& training,
                                        const std::map<Value, LocalGradient>& gradients,
                                        Emitter* emitter);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_UPDATE_H_
