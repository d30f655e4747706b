// Types the options of optimizers whose update is known.
#ifndef PLANPROOF_MONITOR_LAWS_UPDATE_OPTIONS_H_
#define PLANPROOF_MONITOR_LAWS_UPDATE_OPTIONS_H_

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

struct UpdateOptions {
  OptimizerKind kind = OptimizerKind::kOther;
  int32_t optimizer = 0;
  double lr = 0;
  double weight_decay = 0;
  bool decoupled = false;  // weight decay does not go through the gradient
  bool maximize = false;
  double momentum = 0, dampening = 0;  // SGD
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0;  // Adam, AdamW
  bool amsgrad = false;
  bool fused = false;
  // The bias correction is computed in the type of the parameter.
  bool correction_on_device = false;
};

// None if an option that the update needs is not there or no number.
std::optional<UpdateOptions> ReadUpdateOptions(OptimizerKind kind, const ParameterGroup& group);

// By tensor's name, of the optimizers that stepped in this step: those with a known update and
// options, tensors that one optimizer has, learning rates that were in force when it began.
absl::flat_hash_map<absl::string_view, UpdateOptions> UpdatesOfStep(const Header& header,
                                                                    const StepOfRank& step);

// The learning rate of a group, NaN if there is none.
double LearningRate(const ParameterGroup& group);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_UPDATE_OPTIONS_H_
