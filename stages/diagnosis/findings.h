// Holds what is found out about a confirmed counterexample, as data: explanation.h says it in
// words.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_FINDINGS_H_
#define PLANPROOF_STAGES_DIAGNOSIS_FINDINGS_H_

#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/witness.h"
#include "stages/claim_table.h"
#include "stages/diagnosis/fault.h"

namespace planproof::stages {

// Empty: only the counterexample itself is known.
struct Findings {
  std::vector<Fault> faults;  // the first where the plan first goes wrong
  // Where there are none, and nothing is undefined: exceptions of single ranks at the earliest
  // claim that was not shown, and what would make it right on inputs chosen for it alone.
  Fault suspect;
};

// `values_right`: all values that the plan has are right, so that there is nothing to diagnose.
Findings FindFaults(const lineage::Problem& problem, const ClaimTable& table,
                    const std::vector<ClaimOutcome>& outcomes,
                    const shape_reduction::Witness& witness, bool values_right);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_FINDINGS_H_
