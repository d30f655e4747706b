// Recognizes tensors that only integers of the data make: where a label is, how many labels count.
//
// They are no values to relate: a definition in terms of integers says more of them than the name
// of the model's tensor. A row of the gradient of cross entropy adds up to a number, of which
// nothing is left where it is an unknown value.
#ifndef PLANPROOF_STAGES_INTEGER_PATTERNS_H_
#define PLANPROOF_STAGES_INTEGER_PATTERNS_H_

#include <vector>

#include "sdfg/graph.h"

namespace planproof::stages {

// By tensor: integers that are read from the data go into it, and only comparisons, choices, sums,
// products and quotients of these.
std::vector<bool> IntegerPatterns(const sdfg::Graph& graph);

// By tensor: integers and constants, and what is computed from nothing else in that way.
std::vector<bool> MadeOfIntegers(const sdfg::Graph& graph);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_INTEGER_PATTERNS_H_
