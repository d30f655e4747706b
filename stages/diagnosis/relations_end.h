// Finds where a plan stops doing what the model does, as far as relations tell.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_RELATIONS_END_H_
#define PLANPROOF_STAGES_DIAGNOSIS_RELATIONS_END_H_

#include <optional>
#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// The first operator of the model, in dataflow order, whose operands the plan has and whose result
// it has not, although a required output depends on it.
struct RelationsEnd {
  sdfg::OperatorId logical = sdfg::kNone;
  // Operators of the plan that read these operands and whose results are no tensor of the model,
  // those first that do most alike.
  std::vector<sdfg::OperatorId> nearest;
  // Other ranks have the result: the first of them computes something else under its name.
  bool elsewhere = false;
  // How the first of them differs, as far as its form tells; may be empty.
  std::string difference;
};

// `shown` (by required output, or empty): outputs that are right, and so is what they depend on.
// Nothing if everything on which required outputs depend is there, or if relations are missing from
// the beginning. Takes lineages, inferred ones among them, to be true.
std::optional<RelationsEnd> WhereRelationsEnd(const lineage::Problem& problem,
                                              const std::vector<bool>& shown = {});

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_RELATIONS_END_H_
