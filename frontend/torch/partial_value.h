// What is known of an expression once some index variables have values: internal to row_function.
#ifndef PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_
#define PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_

#include <optional>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

struct PartialValue {
  enum class Sort : uint8_t { kInteger, kReal, kCondition };
  Sort sort = Sort::kReal;
  // The value in the recording; conditions are 0 and 1.
  std::optional<solver::Rational> value;
  // The expression; kNoExpr: the value, a constant.
  sdfg::ExprId expression = sdfg::kNoExpr;

  bool IsConstant() const { return expression == sdfg::kNoExpr; }
  bool IsZero() const { return IsConstant() && value->IsZero(); }
  bool IsOne() const { return IsConstant() && value->IsOne(); }
  static PartialValue Constant(Sort sort, solver::Rational value) {
    return {sort, std::move(value), sdfg::kNoExpr};
  }
};

// Whether it is an element of an input.
inline bool IsRead(const sdfg::Node& node) {
  return node.op == sdfg::Op::kElement || node.op == sdfg::Op::kIntElement;
}

// The sort of what a node gives. Not of kSelect, which has that of its branches.
PartialValue::Sort SortOf(const sdfg::Node& node);

// What the operation gives of these values; nothing if it is none of arithmetic, comparison, logic.
std::optional<solver::Rational> Computed(const sdfg::Node& node,
                                         const std::vector<solver::Rational>& args);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PARTIAL_VALUE_H_
