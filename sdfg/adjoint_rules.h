// The derivative of every kind of node.
#ifndef PLANPROOF_SDFG_ADJOINT_RULES_H_
#define PLANPROOF_SDFG_ADJOINT_RULES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/adjoint_expressions.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

// Positions of the arguments through which gradients flow. Conditions, indices and comparisons are
// piecewise constant: nothing flows through them.
std::vector<int> DifferentiableArguments(const Node& node);

struct LocalDerivative {
  const Node& node;
  const std::vector<ExprId>& args;  // forward values of the arguments
  const std::vector<bool>& wanted;  // arguments whose adjoint is asked for
  ExprId value;                     // forward value of the node
  ExprId adjoint;                   // adjoint of the node
  // Variables that a maximum or minimum reduces over: node.var, and those of the same reduction
  // directly below, when args[0] is the innermost body.
  const std::vector<VarId>& reduced;
};

// What the node contributes to the adjoint of each argument, kNoExpr for nothing. For reductions it
// is an expression that contains the bound variables. FailedPrecondition without a tie rule where
// one is needed, Unimplemented for opaque functions.
absl::StatusOr<std::vector<ExprId>> LocalAdjoints(AdjointExpressions* e,
                                                  const LocalDerivative& local);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ADJOINT_RULES_H_
