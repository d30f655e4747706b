// Solves sums against Kronecker indicators instead of summing them.
#ifndef PLANPROOF_SHAPE_REDUCTION_KRONECKER_H_
#define PLANPROOF_SHAPE_REDUCTION_KRONECKER_H_

#include "sdfg/index_function.h"

namespace planproof::shape_reduction {

class NodePool;

// A node equal to sum(var: body). Where the summand is a product with conditions that determine
// summed variables, these are substituted:
//   [v == e] f(v)                        f(e)                  (e: any integer expression, an id)
//   [v div 8 == a] [v mod 8 == b] f(v)   f(8 a + b)            (adjoint of a split)
//   sum(a, b: [8 a + b == i] f(a, b))    f(i div 8, i mod 8)   (adjoint of a merge)
// each guarded by the range of the variable. Conditions and factors that do not depend on the
// summed variables move out of the sum. Otherwise the sum stays as it is.
sdfg::ExprId EliminateKronecker(sdfg::VarId var, sdfg::ExprId body, NodePool* pool);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_KRONECKER_H_
