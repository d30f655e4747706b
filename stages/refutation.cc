#include "stages/refutation.h"

namespace planproof::stages {

bool Refute(const lineage::Problem&, const VerifyOptions&, const ClaimTable&,
            const std::vector<ClaimOutcome>&, Result*) {
  return false;
}

bool HasFiniteSample(const lineage::Problem&, Result*) { return true; }

}  // namespace planproof::stages
