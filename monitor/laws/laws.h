// Makes the judges of laws: contracts of PyTorch, true of every run. Each has a file.
#ifndef PLANPROOF_MONITOR_LAWS_LAWS_H_
#define PLANPROOF_MONITOR_LAWS_LAWS_H_

#include <memory>
#include <vector>

#include "monitor/judge.h"

namespace planproof::monitor {

// What laws about replicas tell each other: from then on replicas drift apart, which is told.
struct ReplicaTrouble {
  bool explained = false;
};

// Rule "backward_from_loss": a backward starts from what m.loss was given, times the loss scale,
// divided by the number of backwards of a step.
std::unique_ptr<Judge> BackwardFromLossLaw();
// Rule "gradients_cleared": between two steps the gradients are cleared.
std::unique_ptr<Judge> GradientsClearedLaw();
// Rule "optimizer_has_parameters": parameters that were put in place of others are in an optimizer.
std::unique_ptr<Judge> OptimizerHasParametersLaw();
// Rule "state_dict_is_model": what state_dict gives has the bits of the model.
std::unique_ptr<Judge> StateDictLaw();
// Rule "data_of_ranks": ranks that train one model have different batches.
std::unique_ptr<Judge> DataOfRanksLaw();
// Rule "collectives_agree": ranks of a group reduce as much.
std::unique_ptr<Judge> CollectivesAgreeLaw();
// Rules "gradients_reduced" and "gradients_averaged": gradients of replicas are the mean of what
// the ranks contribute.
std::unique_ptr<Judge> GradientsReducedLaw(std::shared_ptr<ReplicaTrouble> trouble);
// Rule "clipped_alike": clipping multiplies the parts of a tensor by one factor.
std::unique_ptr<Judge> ClippedAlikeLaw(std::shared_ptr<ReplicaTrouble> trouble);
// Rule "clip_norm": the norm that clipping returns is that of the gradients, each part once.
std::unique_ptr<Judge> ClipNormLaw();
// Rule "replicas_equal": parameters of replicas have the same bits.
std::unique_ptr<Judge> ReplicasEqualLaw(std::shared_ptr<const ReplicaTrouble> trouble);
// Rule "moments_continue": an optimizer finds the states that it left.
std::unique_ptr<Judge> MomentsContinueLaw();
// Rule "moments_linear": new moments are the documented combination of the old ones and gradients.
std::unique_ptr<Judge> MomentsLinearLaw();
// Rule "optimizer_update": one element of each tensor is updated as documented.
std::unique_ptr<Judge> OptimizerUpdateLaw();
// Rule "update_arrives": a step changes the model.
std::unique_ptr<Judge> UpdateArrivesLaw();
// Rules "changed_between_steps": nothing but the optimizer changes single parameters, and
// "initialised_again": all do not become what they were at the start, nor something unrelated.
std::unique_ptr<Judge> ChangedBetweenStepsLaw();

// All of them, causes before what follows from them.
std::vector<std::unique_ptr<Judge>> AllLaws();

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_LAWS_H_
