#include "monitor/laws/laws.h"

namespace planproof::monitor {

std::vector<std::unique_ptr<Judge>> AllLaws() {
  const auto trouble = std::make_shared<ReplicaTrouble>();
  std::vector<std::unique_ptr<Judge>> laws;
  laws.push_back(DataOfRanksLaw());
  laws.push_back(BackwardFromLossLaw());
  laws.push_back(GradientsClearedLaw());
  laws.push_back(OptimizerHasParametersLaw());
  laws.push_back(StateDictLaw());
  laws.push_back(CollectivesAgreeLaw());
  laws.push_back(GradientsReducedLaw(trouble));
  laws.push_back(ClipNormLaw());
  laws.push_back(ClippedAlikeLaw(trouble));
  laws.push_back(ReplicasEqualLaw(trouble));
  laws.push_back(ChangedBetweenStepsLaw());
  laws.push_back(MomentsContinueLaw());
  laws.push_back(MomentsLinearLaw());
  laws.push_back(OptimizerUpdateLaw());
  laws.push_back(UpdateArrivesLaw());
  return laws;
}

}  // namespace planproof::monitor
