// Evaluates an index function row by row, where operands are tensors of chosen rows.
//
// Index variables that number rows get concrete values, and integers that are known for the
// recorded routing are used where they decide something: a branch, a condition, which row is read.
// Everything else stays an expression. A row of such an operand is read at the place of its label
// in the dense tensor, so that two rows of one segment are computed alike if, and only if, the
// expressions are equal.
#ifndef PLANPROOF_FRONTEND_TORCH_ROW_EVALUATION_H_
#define PLANPROOF_FRONTEND_TORCH_ROW_EVALUATION_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/torch/dense_form.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/partial_value.h"
#include "frontend/torch/row_tensors.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

// The row that is computed. Its place in the dense result is `base`, which runs over a layout.
struct CurrentRow {
  bool present = false;
  std::optional<RowLabel> label;  // of the rows that were read
  sdfg::ExprId base = sdfg::kNoExpr;
  const RowLayout* layout = nullptr;  // null: each segment by itself
  int64_t start = 0;                  // of the part of the layout over which base runs
  bool of_numbers = false;            // it reads rows that are no integers
  bool uniform = true;                // and only such that all places of a set have alike
  int64_t OffsetOf(const Segment& segment) const {
    return layout == nullptr ? 0 : layout->StartOf(segment) - start;
  }
};

class RowEvaluation {
 public:
  // All outlive this. `transparent`: operators whose results are read by their definitions.
  RowEvaluation(const sdfg::Graph& graph, const KnownElements& known, const RowTensors& rows,
                const std::set<sdfg::OperatorId>& transparent, const sdfg::Operator& op,
                std::set<sdfg::VarId> enumerated);

  // An expression of the operator's function; variables of the output are given by Set.
  // Nothing if it cannot be followed: `reason` says why.
  std::optional<PartialValue> Value(sdfg::ExprId id, CurrentRow* row);
  void Set(sdfg::VarId var, PartialValue value) { outer_[var] = std::move(value); }

  sdfg::IndexFunctionBuilder& builder() { return builder_; }
  DenseForm& form() { return form_; }
  sdfg::ExprId ExpressionOf(const PartialValue& value);
  // A variable of this meaning: the same one each time.
  sdfg::VarId Variable(int path, sdfg::VarId var, int64_t extent, int64_t start = 0);
  // Number of the input that is this tensor.
  int InputOf(sdfg::TensorId tensor, bool rows = false, bool zero = false);
  const std::vector<sdfg::TensorId>& inputs() const { return inputs_; }

  // The same real value where the place of the current row is chosen, zero elsewhere. Nothing if
  // the rank does not know what is chosen, and the value is not zero there anyhow.
  std::optional<sdfg::ExprId> OnlyChosen(sdfg::ExprId value, const CurrentRow& row);

  // The recorded tensors that decided which row is read, which branch is taken, what is zero.
  const std::set<sdfg::TensorId>& decided_by() const { return decided_by_; }

  const std::string& reason() const { return reason_; }
  std::nullopt_t Fail(const char* reason) {
    if (reason_.empty()) reason_ = reason;
    return std::nullopt;
  }

 private:
  // Whether the place of the current row is chosen, as 0 or 1.
  std::optional<sdfg::ExprId> IsChosen(const CurrentRow& row);

  struct Scope {
    const sdfg::IndexFunction* function;
    const std::vector<sdfg::Sort>* sorts;  // of its expressions
    const std::vector<sdfg::TensorId>* inputs;
    int path = 0;
    std::vector<std::optional<PartialValue>> vars, memo;
    CurrentRow* row = nullptr;
  };
  struct Summand {
    int64_t index = 0;
    std::optional<RowLabel> label;
  };
  using Maybe = std::optional<PartialValue>;

  Maybe Evaluate(Scope* scope, sdfg::ExprId id);
  Maybe EvaluateNode(Scope* scope, sdfg::ExprId id);
  Maybe Arithmetic(Scope* scope, sdfg::ExprId id);
  Maybe Product(Scope* scope, sdfg::ExprId id);
  Maybe Branch(Scope* scope, const sdfg::Node& node);
  Maybe Element(Scope* scope, sdfg::ExprId id);
  Maybe ByDefinition(Scope* scope, sdfg::ExprId id, const std::vector<PartialValue>& at);
  Maybe Bound(Scope* scope, sdfg::ExprId id);
  Maybe EnumeratedSum(Scope* scope, const sdfg::Node& node);
  Maybe At(Scope scope, const sdfg::Node& sum, int64_t index, CurrentRow* row);
  Maybe SumOfRows(Scope* scope, const sdfg::Node& node, const std::vector<Summand>& summands);
  std::optional<solver::Rational> KnownAt(sdfg::TensorId tensor,
                                          const std::vector<PartialValue>& at);
  int PathOf(int from, sdfg::ExprId id);
  Scope ScopeOf(const sdfg::Operator& op, int path, std::vector<std::optional<PartialValue>> vars,
                CurrentRow* row);

  const sdfg::Graph& graph_;
  const KnownElements& known_;
  const RowTensors& rows_;
  const std::set<sdfg::OperatorId>& transparent_;
  const sdfg::Operator& op_;
  const std::set<sdfg::VarId> enumerated_;
  sdfg::IndexFunctionBuilder builder_;
  RowInputs row_inputs_;
  DenseForm form_;
  std::vector<std::optional<PartialValue>> outer_;
  std::vector<sdfg::TensorId> inputs_;
  std::map<sdfg::TensorId, int> numbers_;
  std::map<const sdfg::IndexFunction*, std::vector<sdfg::Sort>> sorts_;
  std::map<std::tuple<int, sdfg::VarId, int64_t, int64_t>, sdfg::VarId> variables_;
  std::map<std::pair<int, sdfg::ExprId>, int> paths_;
  std::set<sdfg::TensorId> decided_by_;
  std::string reason_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ROW_EVALUATION_H_
