// Computes the cone of a plan: what the required outputs depend on, which is what a proof is about
// and what it assumes.
#ifndef PLANPROOF_STAGES_CONE_H_
#define PLANPROOF_STAGES_CONE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// The operators and tensors of the parallel graph on which the required outputs depend.
struct Cone {
  std::vector<bool> tensors;
  std::vector<bool> operators;
};
Cone ConeOfRequired(const lineage::Problem& problem);

// Instances of operators, after multiplying out coordinates.
struct OperatorCounts {
  int64_t logical = 0, parallel = 0;
  int64_t in_cone = 0;                      // of the parallel ones
  std::vector<std::string> without_effect;  // the others, in words
};
OperatorCounts CountOperators(const lineage::Problem& problem, const Cone& cone);

// Operators in a cone that are not in a smaller one, in words, with their numbers of instances.
std::vector<std::string> OperatorsBetween(const lineage::Problem& problem, const Cone& whole,
                                          const Cone& part);

// Adds what the operators of both graphs assume, as far as required outputs depend on it; each
// once.
void AddAssumptions(const lineage::Problem& problem, const Cone& cone,
                    std::vector<std::string>* assumptions);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CONE_H_
