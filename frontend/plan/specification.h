// Reads the role `specification` of a plan file: logical graph, premises, required relations.
#ifndef PLANPROOF_FRONTEND_PLAN_SPECIFICATION_H_
#define PLANPROOF_FRONTEND_PLAN_SPECIFICATION_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::plan {

struct LogicalModel {
  sdfg::Graph graph;
  std::unordered_map<std::string, sdfg::TensorId> names;
  RoundedLiterals literals;
  std::vector<lineage::Problem::InputPremise> premises;
  std::vector<std::string> assumptions;
};

// Operators may stand in any order. Errors name file, line, position and remedy.
absl::StatusOr<LogicalModel> BuildLogicalModel(const Specification& specification,
                                               const std::string& file,
                                               const sdfg::OperatorLibrary& library);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_SPECIFICATION_H_
