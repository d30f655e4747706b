// Builds derivative expressions: arithmetic that folds zeros and ones, substitution of variables
// and sums over them.
//
// Every variable stays bound by at most one node: substituting into an expression gives its
// reductions fresh variables, and so does summing.
#ifndef PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_
#define PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_

#include <functional>
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

  // Whether a condition chooses it: a selection, or a sum, negation or product of such.
  bool IsChoice(ExprId id) { return TraitsOf(id).is_choice; }

  ExprId Zero() { return b_.Real(0); }
  bool IsZero(ExprId id) const { return IsReal(id, 0); }

  ExprId Add(ExprId a, ExprId b);
  // An adjoint that is chosen by a condition is multiplied by what is not defined everywhere within
  // the choice: the derivative of where(x > 0, log x, 0) is where(x > 0, 1 / x, 0), which is
  // defined wherever the function is, not where(x > 0, 1, 0) / x. The adjoint is the first operand.
  ExprId Multiply(ExprId a, ExprId b);
  ExprId Divide(ExprId a, ExprId b);
  ExprId Negate(ExprId a);
  // condition ? a : b, folded where ranges decide the condition.
  ExprId Select(ExprId condition, ExprId a, ExprId b);
  // condition ? a : 0, or condition ? 0 : a, likewise within the choices that a consists of.
  ExprId Where(ExprId condition, bool holds, ExprId a);
  // value where all conditions hold, else 0. An index that is read from a tensor is read where the
  // conditions on its own indices hold.
  ExprId WhereAll(std::vector<ExprId> conditions, ExprId value);
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
  struct Traits {
    // It divides, takes a logarithm or a root, or may read outside of a tensor.
    bool can_be_undefined = false;
    int reads = 0;           // within reads
    bool is_choice = false;  // a selection, or a sum, negation or product of such
  };
  Traits TraitsOf(ExprId id);
  bool MayReadOutside(const Node& read);
  // A linear function of `choice`, applied to the branches that it consists of.
  ExprId Within(ExprId choice, const std::function<ExprId(ExprId)>& linear, int depth = 0);
  ExprId SubstituteNested(ExprId root, const Substitution& substitution, int depth);

  IndexFunctionBuilder& b_;
  IndexAlgebra index_;
  std::vector<Traits> traits_;  // of the first nodes
  bool too_deep_ = false;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ADJOINT_EXPRESSIONS_H_
