// Explains a counterexample as violations, for the report.
#ifndef PLANPROOF_DIAGNOSIS_EXPLANATION_H_
#define PLANPROOF_DIAGNOSIS_EXPLANATION_H_

#include <vector>

#include "diagnosis/findings.h"
#include "lineage/lineage.h"
#include "shape_reduction/witness.h"
#include "stages/claim_table.h"
#include "stages/result.h"

namespace planproof::diagnosis {

// The violations of a confirmed difference, the first where the plan first goes wrong. Without
// findings: the first claim that was not shown, and the counterexample.
std::vector<stages::Violation> Explain(const lineage::Problem& problem,
                                       const stages::ClaimTable& table,
                                       const std::vector<stages::ClaimOutcome>& outcomes,
                                       const shape_reduction::Witness& witness,
                                       const Findings& findings);

}  // namespace planproof::diagnosis

#endif  // PLANPROOF_DIAGNOSIS_EXPLANATION_H_
