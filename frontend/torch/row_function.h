// Makes the dense form of one output of an operator that reads tensors of chosen rows.
#ifndef PLANPROOF_FRONTEND_TORCH_ROW_FUNCTION_H_
#define PLANPROOF_FRONTEND_TORCH_ROW_FUNCTION_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/torch/known_elements.h"
#include "frontend/torch/row_evaluation.h"
#include "frontend/torch/row_tensors.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

struct DenseOutput {
  sdfg::IndexFunction function;
  std::vector<sdfg::TensorId> inputs;
  // Where the output is a tensor of chosen rows, what these are; its dense tensor is this output.
  // Else this output is the operator's.
  std::optional<RowTensor> rows;
};

class RowFunction {
 public:
  // All outlive this.
  RowFunction(const sdfg::Graph& graph, const KnownElements& known, const RowTensors& rows,
              const std::set<sdfg::OperatorId>& transparent, const sdfg::Operator& op,
              size_t output);

  // Nothing if the operator does something else than the same to all rows of an expert, or adding
  // all of them up; `reason` says what.
  std::optional<DenseOutput> Make();
  const std::string& reason() const { return reason_; }

 private:
  // Which variables get values, and whether a dimension of the output is one of rows.
  struct Attempt {
    std::set<sdfg::VarId> enumerated;
    std::optional<size_t> dim;
    bool rows = false;
  };
  std::vector<Attempt> Attempts() const;
  std::vector<bool> PartsOf(sdfg::ExprId id) const;
  std::set<sdfg::VarId> VariablesOf(sdfg::ExprId id) const;
  std::optional<DenseOutput> Try(const Attempt& attempt);
  std::optional<DenseOutput> ByRows(const Attempt& attempt, RowEvaluation* evaluation);
  std::optional<DenseOutput> ByCases(const Attempt& attempt, RowEvaluation* evaluation);
  std::optional<RowLayout> LabelsOf(size_t dim, RowEvaluation* evaluation,
                                    std::vector<RowLabel>* labels);
  std::optional<sdfg::ExprId> Row(const PartialValue& value, const CurrentRow& row,
                                  RowEvaluation* evaluation, RowTensor* rows) const;
  std::optional<DenseOutput> Finish(RowEvaluation* evaluation, std::vector<sdfg::VarId> dims,
                                    sdfg::ExprId body);
  bool IsDecidedByItsOwnChoices(const RowEvaluation& evaluation, const DenseOutput& made) const;
  std::optional<DenseOutput> AsCollective(DenseOutput made) const;
  bool HoldsPlace(sdfg::TensorId dense, const Segment& segment, int64_t place, int64_t row) const;
  bool Communicates() const { return op_.kind != sdfg::OperatorKind::kCompute; }

  const sdfg::Graph& graph_;
  const KnownElements& known_;
  const RowTensors& rows_;
  const std::set<sdfg::OperatorId>& transparent_;
  const sdfg::Operator& op_;
  const sdfg::IndexFunction& f_;
  const sdfg::FunctionOutput& output_;
  std::string reason_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ROW_FUNCTION_H_
