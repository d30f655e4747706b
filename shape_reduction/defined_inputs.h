// Looks for inputs on which the model has a value: only these can show that a plan is wrong.
#ifndef PLANPROOF_SHAPE_REDUCTION_DEFINED_INPUTS_H_
#define PLANPROOF_SHAPE_REDUCTION_DEFINED_INPUTS_H_

#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// The specification is defined where all operators are that its required outputs depend on, also
// those that the output in question does not depend on. A search that looks at a part of the model
// asks here about the rest. Problem and cache must outlive it.
class DefinedInputs {
 public:
  DefinedInputs(const lineage::Problem& problem, ProgramCache* programs);

  // False if, in floating point, some operator of the model has no value at these inputs, or a
  // premise of one is not known to hold. True also where the model is too large to be evaluated in
  // a short time, or by `deadline`: it is not asked again then.
  bool Contain(const std::vector<BlockTensorPtr<double>>& inputs, int64_t max_elements,
               WorkClock::time_point deadline);

 private:
  template <typename D>
  bool HaveValues(const std::vector<BlockTensorPtr<double>>& inputs, int64_t max_elements,
                  WorkClock::time_point deadline);

  const lineage::Problem& problem_;
  ProgramCache* programs_;
  std::vector<sdfg::TensorId> open_;  // made by operators that can be undefined
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_DEFINED_INPUTS_H_
