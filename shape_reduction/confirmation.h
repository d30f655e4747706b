// Confirmation of a numeric difference by interval arithmetic.
#ifndef PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_
#define PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

struct Enclosures {
  bool disjoint = false;  // and every premise in the cone holds
  double logical_low = 0, logical_high = 0, parallel_low = 0, parallel_high = 0;
  std::string logical_text, parallel_text;
  int precision = 0;
  std::string message;  // why not disjoint
};

// Encloses both values of the element `index` (of the relation's parallel tensor) on the given
// inputs: in double intervals,
// then at 128, 256, ... bits up to `max_precision` until the enclosures are disjoint. Only the
// cones of the two tensors are evaluated. On the logical side no element of the cone may be
// invalid: the inputs lie in the domain of the specification.
Enclosures ConfirmDifference(const lineage::Problem& problem,
                             const lineage::RequiredRelation& relation,
                             const std::vector<BlockTensorPtr<double>>& inputs,
                             const std::vector<int64_t>& index, int max_precision,
                             int64_t max_elements, std::chrono::steady_clock::time_point deadline,
                             ProgramCache* programs);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_
