// Implements the derivative of every kind of node.
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
};

// What the node contributes to the adjoint of each argument, kNoExpr for nothing. For reductions it
// is an expression that contains the bound variables. FailedPrecondition without a tie rule where
// one is needed, Unimplemented for opaque functions.
absl::StatusOr<std::vector<ExprId>> LocalAdjoints(AdjointExpressions* e,
                                                  const LocalDerivative& local);

// One operand of a maximum or minimum of several, at each value of `vars`.
struct TiedOperand {
  ExprId body = kNoExpr;
  std::vector<VarId> vars;
};

// The share of each operand in the derivative of the maximum (or minimum) of all of them, whose
// value is `value`, by the tie rule kEven: 1 / n for each of the n values that are equal to it.
std::vector<ExprId> EvenWeights(AdjointExpressions* e, const std::vector<TiedOperand>& operands,
                                ExprId value);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ADJOINT_RULES_H_
