// Finds the operator in which one layer is unlike the others. Layers repeat: an operator of a wrong
// layer has a counterpart in the other layers. The states of a ring and the sums along a tree are
// no tensors of the model, so that relations do not tell at which of them a plan goes wrong; those
// of another layer do.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_ODD_OPERATOR_H_
#define PLANPROOF_STAGES_DIAGNOSIS_ODD_OPERATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

struct OddOperator {
  sdfg::OperatorId odd = sdfg::kNone;
  sdfg::OperatorId like = sdfg::kNone;  // its counterpart
  std::string difference;
};

// The first operator with a result `among` these tensors that computes what no other does from
// operands that are right or computed as elsewhere, and that differs from its counterpart in one
// thing: in its function or in one operand. The counterpart has all else that it is computed from
// in common, back to where weights come in, what reads its results, and their names but for the
// numbers in them. `right`: by parallel tensor, whether it is known to be right. Takes lineages to
// be true, and hashes for what they stand for: it says where to look, and decides nothing.
std::optional<OddOperator> FindOddOperator(const lineage::Problem& problem,
                                           const std::vector<bool>& among,
                                           const std::vector<bool>& right);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_ODD_OPERATOR_H_
