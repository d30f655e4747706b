// Represents what is known of an expression once some index variables have values; internal to
// row_function.
#ifndef PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_
#define PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_

#include <optional>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"
#include "sdfg/index_function_check.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

struct PartialValue {
  sdfg::Sort sort = sdfg::Sort::kReal;
  // The value in the recording; conditions are 0 and 1.
  std::optional<solver::Rational> value;
  // The expression; kNoExpr: the value, a constant.
  sdfg::ExprId expression = sdfg::kNoExpr;

  bool IsConstant() const { return expression == sdfg::kNoExpr; }
  bool IsZero() const { return IsConstant() && value->IsZero(); }
  bool IsOne() const { return IsConstant() && value->IsOne(); }
  static PartialValue Constant(sdfg::Sort sort, solver::Rational value) {
    return {sort, std::move(value), sdfg::kNoExpr};
  }
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_
