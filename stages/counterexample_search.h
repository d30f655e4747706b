// Looks for a counterexample at claims that failed, and everywhere.
#ifndef PLANPROOF_STAGES_COUNTEREXAMPLE_SEARCH_H_
#define PLANPROOF_STAGES_COUNTEREXAMPLE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/witness.h"
#include "stages/claim_table.h"

namespace planproof::stages {

enum class Thoroughness : uint8_t {
  // Where claims failed only, on few inputs, for a moment; in small graphs, everywhere.
  kQuick,
  // In large graphs, and where positions are compared with each other, first where claims failed;
  // in small ones, that comes last.
  kFull,
  // The same after a quick search that found nothing: where that looked, for longer.
  kFullAfterQuick,
};

// `confirm_seconds`: for what is seen to differ in doubles, unless the search is quick.
shape_reduction::Witness FindWitness(const lineage::Problem& problem, const ClaimTable& table,
                                     const std::vector<ClaimOutcome>& outcomes,
                                     const shape_reduction::WitnessOptions& search,
                                     Thoroughness thoroughness, double confirm_seconds);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_COUNTEREXAMPLE_SEARCH_H_
