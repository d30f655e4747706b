#include "diagnosis/findings.h"

#include "diagnosis/cause_votes.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/exceptions.h"
#include "diagnosis/isolated_stage.h"
#include "shape_reduction/search_scope.h"

namespace planproof::diagnosis {

namespace {

constexpr double kExplainSeconds = 6;
constexpr size_t kMaxFaults = 8;

// By parallel tensor: claims show that it is what its full lineage says, whatever other claims
// fail.
std::vector<char> Shown(const lineage::Problem& problem, const stages::ClaimTable& table,
                        const std::vector<stages::ClaimOutcome>& outcomes) {
  std::vector<sdfg::TensorId> suspects;
  std::vector<char> proved(problem.parallel.tensors.size(), 0);
  for (size_t c = 0; c < outcomes.size(); ++c) {
    const sdfg::TensorId id = table.claims()[c].parallel;
    if (outcomes[c].status == stages::ClaimStatus::kProved) {
      proved[id] = 1;
    } else {
      suspects.push_back(id);
    }
  }
  std::vector<char> shown = shape_reduction::IndependentOf(problem, suspects);
  for (size_t id = 0; id < shown.size(); ++id) shown[id] = shown[id] && proved[id];
  return shown;
}

}  // namespace

Findings FindFaults(const lineage::Problem& problem, const stages::ClaimTable& table,
                    const std::vector<stages::ClaimOutcome>& outcomes,
                    const shape_reduction::Witness& witness, bool values_right) {
  Findings found;
  if (!values_right) {
    const std::vector<char> trusted = Shown(problem, table, outcomes);
    found.faults = Diagnose(problem, witness, trusted, kMaxFaults, kExplainSeconds);
  }
  if (!found.faults.empty() || witness.undefined.tensor != sdfg::kNone) return found;
  const std::vector<int> failed = table.Failed(outcomes);
  const sdfg::TensorId tensor = failed.empty() ? problem.required[witness.required].parallel
                                               : table.claims()[failed[0]].parallel;
  found.suspect = SuspectExceptions(problem, tensor);
  if (failed.empty() || values_right) return found;
  NameCauses(problem, CausesInIsolation(problem, problem.lineage, tensor, kExplainSeconds),
             &found.suspect);
  found.suspect.of_stage_alone = !found.suspect.cause.empty();
  return found;
}

}  // namespace planproof::diagnosis
