#include "stages/diagnosis/findings.h"

#include "stages/diagnosis/diagnosis.h"
#include "stages/diagnosis/exceptions.h"

namespace planproof::stages {

namespace {

constexpr double kExplainSeconds = 6;
constexpr size_t kMaxFaults = 8;

}  // namespace

Findings FindFaults(const lineage::Problem& problem, const ClaimTable& table,
                    const std::vector<ClaimOutcome>& outcomes,
                    const shape_reduction::Witness& witness, bool values_right) {
  Findings found;
  if (!values_right) found.faults = Diagnose(problem, witness, kMaxFaults, kExplainSeconds);
  if (!found.faults.empty() || witness.undefined.tensor != sdfg::kNone) return found;
  const std::vector<int> failed = table.Failed(outcomes);
  found.suspect =
      SuspectExceptions(problem, failed.empty() ? problem.required[witness.required].parallel
                                                : table.claims()[failed[0]].parallel);
  return found;
}

}  // namespace planproof::stages
