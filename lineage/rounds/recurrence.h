// Tells from an operator's function what a round of a loop does to a value that it carries.
#ifndef PLANPROOF_LINEAGE_ROUNDS_RECURRENCE_H_
#define PLANPROOF_LINEAGE_ROUNDS_RECURRENCE_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sdfg/index_function.h"

namespace planproof::lineage::rounds {

// y = x0 + x1, element by element.
bool IsSum(const sdfg::IndexFunction& f);

// y = max(before, rest), element by element, where the rest, and all there is, only chooses among
// elements that it reads: it is a number wherever these are.
struct Maximum {
  int before = 0;                     // the input
  sdfg::ExprId rest = sdfg::kNoExpr;  // does not read it
};
std::optional<Maximum> MaximumOf(const sdfg::IndexFunction& f);
// The function of one output only chooses among elements, each read at variables that stay within
// its dimensions.
bool OnlyChooses(const sdfg::IndexFunction& f);

// y = before * exp(old - new) + rest, as sums of exponentials are carried on when the maximum that
// they are relative to changes from `old` to `new`.
struct Rescaling {
  int before = 0, old_scale = 0, new_scale = 0;  // inputs; the last two are read alike
  std::vector<int> scale_dims;        // by dimension of the scales: the output's that it is
  sdfg::ExprId rest = sdfg::kNoExpr;  // reads neither `before` nor `old`
};
std::optional<Rescaling> RescalingOf(const sdfg::IndexFunction& f);

// Whether both expressions, each over the dimensions of its function's one output, have the same
// value, by their forms; `same_input` says which inputs stand for the same tensor.
bool SameValue(const sdfg::IndexFunction& a, sdfg::ExprId value_a, const sdfg::IndexFunction& b,
               sdfg::ExprId value_b, absl::FunctionRef<bool(int input_a, int input_b)> same_input);

// The same of any expressions, under variables that correspond.
bool SameExpression(const sdfg::IndexFunction& a, sdfg::ExprId value_a,
                    const sdfg::IndexFunction& b, sdfg::ExprId value_b,
                    const std::vector<std::pair<sdfg::VarId, sdfg::VarId>>& vars,
                    absl::FunctionRef<bool(int input_a, int input_b)> same_input);

// The input, of the output's shape, of which the expression is the element at the output's own
// index, or -1.
int OwnElementOf(const sdfg::IndexFunction& f, size_t output, sdfg::ExprId id);

// y = x, element by element: x, or -1.
int CopiedInput(const sdfg::IndexFunction& f, size_t output);

// y = exp(x).
bool IsExponential(const sdfg::IndexFunction& f);

// y = a - b, element by element.
struct Difference {
  int a = 0, b = 0;  // inputs
};
std::optional<Difference> DifferenceOf(const sdfg::IndexFunction& f);

// y = x f, element by element, where f is read at some of the output's dimensions.
struct Scaling {
  int x = 0, factor = 0;         // inputs
  std::vector<int> factor_dims;  // by dimension of the factor: the output's, -1 if it is 1 long
};
std::vector<Scaling> ScalingsOf(const sdfg::IndexFunction& f);  // either way round

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_RECURRENCE_H_
