// Finds values at which operators change what they do.
//
// Which branch an operator takes is decided where an element is compared with a constant: an index
// that is ignored, the first and the last row of a part of a vocabulary, a threshold, the bounds of
// a clamp. Inputs chosen at random hardly ever meet such a value. Here the constants of both graphs
// are collected and followed back, through operators that move, shift or scale, to the inputs that
// they are compared with.
#ifndef PLANPROOF_SHAPE_REDUCTION_COMPARED_VALUES_H_
#define PLANPROOF_SHAPE_REDUCTION_COMPARED_VALUES_H_

#include <cstdint>
#include <set>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::shape_reduction {

struct ComparedValues {
  // Integers that are told apart by themselves (an ignored index), or the two beside a bound.
  std::set<int64_t> integers;
  // Ends of ranges within which an integer is looked for (a part of the vocabulary), and their
  // neighbours. Those that lie where the model looks for nothing say nothing about the plan.
  std::set<int64_t> edges;
  std::set<double> reals;
};

// By logical tensor; empty for those that are computed.
std::vector<ComparedValues> FindComparedValues(const lineage::Problem& problem);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_COMPARED_VALUES_H_
