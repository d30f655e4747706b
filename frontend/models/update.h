// The end of an iteration: gradients reduced over ranks and microbatches, the global norm,
// clipping, AdamW.
#ifndef PLANPROOF_FRONTEND_MODELS_UPDATE_H_
#define PLANPROOF_FRONTEND_MODELS_UPDATE_H_

#include <map>
#include <string>
#include <vector>

#include "frontend/models/backward.h"
#include "frontend/models/emitter.h"
#include "frontend/models/model_config.h"

namespace planproof::models {

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

}  // namespace planproof::models

#endif  // PLANPROOF_FRONTEND_MODELS_UPDATE_H_
