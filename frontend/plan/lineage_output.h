// Writes the relations of a problem's tensors back into the plan file that it was read from.
#ifndef PLANPROOF_FRONTEND_PLAN_LINEAGE_OUTPUT_H_
#define PLANPROOF_FRONTEND_PLAN_LINEAGE_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "solver/rational.h"

namespace planproof::plan {

// A computed tensor is a slice of a logical tensor, or a multiple of one.
struct StatedRelation {
  std::string tensor;  // as Problem::parallel names it
  std::string logical;
  solver::Rational factor = 1;  // of the logical values; not 0
  std::vector<sdfg::IndexMap> map;
};

struct PlanWithLineage {
  std::string text;  // the plan as JSON
  int64_t stated = 0;
  // Tensors to which the format gives no name that a lineage could use: what is in flight, what an
  // exception or one of several equal names stands for.
  std::vector<std::string> unnamed;
};

// The plan in these files, of which `problem` was read, with these relations as its lineage. What
// it says already of other tensors stays. Errors are those of ReadableForm.
absl::StatusOr<PlanWithLineage> WithLineage(const std::vector<std::string>& files,
                                            const lineage::Problem& problem,
                                            const std::vector<StatedRelation>& relations);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_LINEAGE_OUTPUT_H_
