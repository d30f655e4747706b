// Checks that a problem is one: what its graphs, lineages and required relations name is there.
#ifndef PLANPROOF_STAGES_PROBLEM_CHECK_H_
#define PLANPROOF_STAGES_PROBLEM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "lineage/lineage.h"

namespace planproof::stages {

// Lineages and required relations refer to existing tensors and dimensions, operators are in
// topological order. InvalidArgument names what is wrong.
absl::Status CheckProblem(const lineage::Problem& problem);
// The same for one full lineage of a parallel tensor, which messages call `what`.
absl::Status CheckLineage(const lineage::Problem& problem, sdfg::TensorId parallel,
                          const lineage::Lineage& l, const std::string& what);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PROBLEM_CHECK_H_
