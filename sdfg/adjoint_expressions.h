// Building derivative expressions: arithmetic that folds zeros and ones, substitution of variables
// and sums over them.
//
// Every variable stays bound by at most one node: substituting into an expression gives its
// reductions fresh variables, and so does summing.
#ifndef PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_
#define PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_

#include <map>
#include <vector>

#include "sdfg/index_algebra.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

// Integer expressions for free variables.
using Substitution = std::map<VarId, ExprId>;

class AdjointExpressions {
 public:
  explicit AdjointExpressions(IndexFunctionBuilder* builder) : b_(*builder), index_(builder) {}

  IndexFunctionBuilder& builder() { return b_; }
  IndexAlgebra& index() { return index_; }

  ExprId Zero() { return b_.Real(0); }
  bool IsZero(ExprId id) const { return IsReal(id, 0); }

  ExprId Add(ExprId a, ExprId b);
  ExprId Multiply(ExprId a, ExprId b);
  ExprId Divide(ExprId a, ExprId b);
  ExprId Negate(ExprId a);
  // condition ? a : b, folded where ranges decide the condition.
  ExprId Select(ExprId condition, ExprId a, ExprId b);
  // 1 where the condition holds, else 0.
  ExprId Indicator(ExprId condition);

  // `node` with other arguments; integer expressions are brought to their small form.
  ExprId Rebuild(Node node, std::vector<ExprId> args);
  // `root` with its free variables replaced simultaneously. Bound variables are renamed where
  // something below them is replaced, so no variable is captured.
  ExprId Substitute(ExprId root, const Substitution& substitution);
  // The sum of a real expression over all values of the variables.
  ExprId SumOver(const VarSet& vars, ExprId body);

  // True once an expression has become too large or a coefficient too big; results are then
  // meaningless.
  bool failed() const;

 private:
  bool IsReal(ExprId id, int64_t value) const;
  ExprId SubstituteNested(ExprId root, const Substitution& substitution, int depth);

  IndexFunctionBuilder& b_;
  IndexAlgebra index_;
  bool too_deep_ = false;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_
