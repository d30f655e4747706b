#include "stages/anchor_report.h"

#include <array>

namespace planproof::stages {
namespace {

constexpr std::array<const char*, 6> kNames = {"not recorded",   "anchored",
                                               "not anchored",   "held differs",
                                               "results differ", "translation differs"};

}  // namespace

const char* AnchorOutcomeName(AnchorOutcome outcome) {
  return kNames.at(static_cast<size_t>(outcome));
}

bool AnchorOutcomeFromName(const std::string& name, AnchorOutcome* outcome) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name != kNames.at(i)) continue;
    *outcome = static_cast<AnchorOutcome>(i);
    return true;
  }
  return false;
}

}  // namespace planproof::stages
