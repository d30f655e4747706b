// Computes the numbers that a program derives from its constants alone.
//
// How many labels a mask lets count is a number: 19 in the model, 13 and 6 on two ranks. That they
// add up is arithmetic once they are numbers, and is not to be seen from a mask of which nothing is
// known. So a result without dimensions that is computed from listed constants alone is given as
// that number, in the model and on every rank alike. Everything else that reads a constant reads it
// as before: what is proved of all masks of that shape holds for this one.
#ifndef PLANPROOF_FRONTEND_TORCH_CONSTANT_FOLDING_H_
#define PLANPROOF_FRONTEND_TORCH_CONSTANT_FOLDING_H_

#include <map>
#include <set>

#include "absl/status/statusor.h"
#include "frontend/torch/exact_values.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// Elements of tensors that nothing computes.
using ListedElements = std::map<sdfg::TensorId, ExactElements>;

// Changes the operators whose results are such numbers. Gives the tensors of `listed` whose
// elements some number was computed from; the operators are in any order. A conversion to integers
// is evaluated where it changes nothing.
absl::StatusOr<std::set<sdfg::TensorId>> FoldConstants(const sdfg::OperatorLibrary& operators,
                                                       const ListedElements& listed,
                                                       sdfg::Graph* graph);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_CONSTANT_FOLDING_H_
