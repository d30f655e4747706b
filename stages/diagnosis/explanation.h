// Explains a counterexample as violations, for the report.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_EXPLANATION_H_
#define PLANPROOF_STAGES_DIAGNOSIS_EXPLANATION_H_

#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/witness.h"
#include "stages/claim_table.h"
#include "stages/diagnosis/findings.h"
#include "stages/result.h"

namespace planproof::stages {

// The violations of a confirmed difference, the first where the plan first goes wrong. Without
// findings: the first claim that was not shown, and the counterexample.
std::vector<Violation> Explain(const lineage::Problem& problem, const ClaimTable& table,
                               const std::vector<ClaimOutcome>& outcomes,
                               const shape_reduction::Witness& witness, const Findings& findings);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_EXPLANATION_H_
