// Collects what is known of the inputs of the logical graph before values are chosen for them.
#ifndef PLANPROOF_SHAPE_REDUCTION_INPUT_RANGES_H_
#define PLANPROOF_SHAPE_REDUCTION_INPUT_RANGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/element_values.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

class InputRanges {
 public:
  InputRanges(const lineage::Problem& problem, ProgramCache* programs);

  // What an element may be: also what conditions of the model's operators leave ("an id is not
  // negative").
  const ElementDomain& Domain(sdfg::TensorId id) const { return domains_[id]; }
  // Integers lie in [first, second) as a rule: where the tensor indexes a dimension, within it. A
  // part of the domain unless that is empty.
  std::pair<int64_t, int64_t> Usual(sdfg::TensorId id) const { return usual_[id]; }
  // Values of the domain at which some operator does something else.
  const std::vector<int64_t>& ComparedIntegers(sdfg::TensorId id) const { return integers_[id]; }
  const std::vector<double>& ComparedReals(sdfg::TensorId id) const { return reals_[id]; }

 private:
  using Range = std::pair<int64_t, int64_t>;
  // By logical tensor, computed ones too: what is asked of its elements.
  struct Asked {
    std::vector<Range> allowed, usual;
  };
  Asked FindAsked(ProgramCache* programs) const;

  const lineage::Problem& problem_;
  std::vector<ElementDomain> domains_;
  std::vector<Range> usual_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<std::vector<double>> reals_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INPUT_RANGES_H_
