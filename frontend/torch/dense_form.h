// Tells what the expressions of a dense form are in rows that are not chosen, and brings them into
// their final form.
#ifndef PLANPROOF_FRONTEND_TORCH_DENSE_FORM_H_
#define PLANPROOF_FRONTEND_TORCH_DENSE_FORM_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// Whether it is an element of an input.
inline bool IsRead(const sdfg::Node& node) {
  return node.op == sdfg::Op::kElement || node.op == sdfg::Op::kIntElement;
}

// Of the inputs of a function under construction: which stand for chosen rows, and which of these
// are zero in rows that are not chosen.
struct RowInputs {
  std::vector<bool> rows, zero;
};

class DenseForm {
 public:
  // Both outlive this; they may grow.
  DenseForm(const sdfg::IndexFunctionBuilder& builder, const RowInputs& inputs)
      : b_(builder), inputs_(inputs) {}

  // The real number that the expression is where all inputs of kind `zero` are zero, whatever else
  // is read: nothing if that is not known.
  std::optional<solver::Rational> WhereNothingIsChosen(sdfg::ExprId id);
  bool IsZeroWhereNothingIsChosen(sdfg::ExprId id) {
    const std::optional<solver::Rational> value = WhereNothingIsChosen(id);
    return value && value->IsZero();
  }
  // Whether the expression is defined whatever the dense rows hold.
  bool IsDefined(sdfg::ExprId id);
  bool ReadsRows(sdfg::ExprId id);

 private:
  bool IsPositive(sdfg::ExprId id);

  const sdfg::IndexFunctionBuilder& b_;
  const RowInputs& inputs_;
  std::map<sdfg::ExprId, std::optional<solver::Rational>> values_;
  std::map<sdfg::ExprId, bool> positive_, reads_, defined_;
};

// A function of one output, without what the body does not use: inputs (unless all are kept) and
// variables, each of which one expression binds. `inputs` gets the numbers of the inputs that are
// left, in order. `output` has the dimensions and the type of the output.
absl::StatusOr<sdfg::IndexFunction> Tidied(const sdfg::IndexFunction& scratch,
                                           const sdfg::FunctionOutput& output, bool keep_inputs,
                                           std::vector<int>* inputs);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_DENSE_FORM_H_
