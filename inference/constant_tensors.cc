#include "inference/constant_tensors.h"

#include <algorithm>
#include <cstddef>

#include "inference/frontier.h"
#include "inference/match_budget.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/rational.h"
#include "solver/term.h"
#include "stages/cells.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::TensorId;

std::vector<bool> ConstantTensors(const lineage::Problem& problem) {
  const sdfg::Graph& graph = problem.logical;
  std::vector<bool> constant(graph.tensors.size(), false);
  Frontier frontier(problem);
  solver::Arena arena;
  sdfg::SymbolicEvaluator evaluator(&arena, {&graph, &problem.parallel}, &frontier);
  for (const sdfg::Operator& op : graph.operators) {
    if (op.kind == sdfg::OperatorKind::kMultiple) continue;
    std::vector<TensorId> varying;
    size_t operands = 0;
    for (const TensorId operand : op.inputs) {
      if (operand == kNone) continue;
      ++operands;
      if (!constant[operand]) varying.push_back(operand);
    }
    for (const TensorId out : op.outputs) {
      if (out == kNone || varying.empty() || varying.size() == operands) {
        if (out != kNone) constant[out] = varying.empty();
        continue;
      }
      const sdfg::Tensor& tensor = graph.tensors[out];
      const bool empty =
          std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
      if (sdfg::IsInteger(tensor.dtype) || empty) continue;
      frontier.OpenDownTo(varying);
      evaluator.Forget();
      evaluator.ClearFailure();
      arena.ClearPremises();
      arena.ResetExhausted(kWorkOfSummand);
      const stages::Cell cell = stages::WholeCell(evaluator.symbols(), tensor.shape);
      const auto value = evaluator.Defined({stages::kLogical, out}, cell.index);
      solver::Rational number;
      constant[out] = value && !arena.exhausted() && value->masked == solver::kZeroPoly &&
                      arena.IsConstant(value->value, &number);
    }
  }
  return constant;
}

}  // namespace planproof::inference
