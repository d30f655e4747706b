// Solves index equations: which values of the variables read a given element?
//
// The gradient of a read x[e_0(v), e_1(v), ...] at element (j_0, j_1, ...) sums over all v with
// e_d(v) = j_d. Where the equations determine variables (renamings, shifts, digits of a merged or
// split dimension) the sum over them collapses; what stays undetermined is summed over, under
// indicators of the equations that were not solved.
#ifndef PLANPROOF_SDFG_INDEX_INVERSION_H_
#define PLANPROOF_SDFG_INDEX_INVERSION_H_

#include <vector>

#include "sdfg/adjoint_expressions.h"
#include "sdfg/index_algebra.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

struct IndexSolution {
  // Solved variables, in terms of the right-hand sides and of `summed`.
  Substitution values;
  // Comparisons that must hold for the values to be a solution (a value within its extent). What is
  // evaluated at the values is defined only under them.
  std::vector<ExprId> guards;
  // Equations that were not solved, with the values substituted.
  std::vector<ExprId> equations;
  // Variables that are not determined, including new ones: sum over them.
  VarSet summed;
};

// All solutions of left[d] = right[d] for every d, in the variables `unknowns`. Every solution is
// represented exactly once.
IndexSolution SolveIndices(AdjointExpressions* expressions, const VarSet& unknowns,
                           const std::vector<ExprId>& left, const std::vector<ExprId>& right);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_INVERSION_H_
