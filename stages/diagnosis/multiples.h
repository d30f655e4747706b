// Finds tensors of a plan that are multiples of the model's, and where the factor comes in.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_MULTIPLES_H_
#define PLANPROOF_STAGES_DIAGNOSIS_MULTIPLES_H_

#include <vector>

#include "lineage/lineage.h"
#include "solver/rational.h"

namespace planproof::stages {

class Multiples {
 public:
  // The problem outlives this.
  explicit Multiples(const lineage::Problem& problem) : problem_(problem) {}

  // 1 where the tensor is the model's, and where nothing is known of it.
  solver::Rational Factor(sdfg::TensorId parallel) const;
  // Some operand is a multiple by another factor than 1.
  bool AreReadBy(const sdfg::Operator& op) const;
  // The operator at which the factor comes in; kNone if that is before all operators.
  sdfg::OperatorId Origin(sdfg::TensorId parallel) const;

 private:
  // Among the tensors, or what leads to them over tensors of which nothing is known: in a bucket,
  // say, or a term of a sum. kNone: there is none.
  sdfg::TensorId Nearest(std::vector<sdfg::TensorId> tensors) const;

  const lineage::Problem& problem_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_MULTIPLES_H_
