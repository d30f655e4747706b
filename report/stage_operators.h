// Lists the operators of the plan that a stage consists of.
#ifndef PLANPROOF_REPORT_STAGE_OPERATORS_H_
#define PLANPROOF_REPORT_STAGE_OPERATORS_H_

#include <vector>

#include "stages/account.h"

namespace planproof::report {

class StageOperators {
 public:
  // The account must outlive this.
  explicit StageOperators(const stages::Account& account);

  // Those that the tensor is computed by, back to tensors that have claims of their own, nearest
  // first.
  std::vector<sdfg::OperatorId> Of(sdfg::TensorId tensor) const;
  // What they read that none of them computes.
  std::vector<sdfg::TensorId> InputsOf(const std::vector<sdfg::OperatorId>& operators) const;

 private:
  const stages::Account& account_;
  std::vector<bool> claimed_;      // by tensor of the plan
  mutable std::vector<int> seen_;  // by operator: in which call
  mutable int call_ = 0;
};

// Operators of a graph back from a tensor to those that `known` has, nearest first.
std::vector<sdfg::OperatorId> OperatorsUpTo(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                            const std::vector<bool>& known);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_STAGE_OPERATORS_H_
