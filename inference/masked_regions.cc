#include "inference/masked_regions.h"

#include <algorithm>
#include <utility>

#include "stages/cells.h"
#include "stages/zero_region.h"

namespace planproof::inference {

using sdfg::TensorId;

namespace {

constexpr int kMaxOperatorsBehindMask = 4;  // operators between a mask and what it hides
constexpr int64_t kRegionTermBudget = 5'000;

bool ComparesIndices(const sdfg::Node& node) {
  return node.op == sdfg::Op::kIntLess || node.op == sdfg::Op::kIntLessEq ||
         node.op == sdfg::Op::kIntEq;
}

}  // namespace

bool MaskedRegions::Learn(const std::vector<TensorId>& tensors, sdfg::SymbolicEvaluator* evaluator,
                          solver::Arena* arena) {
  bool learned = false;
  for (const TensorId t : tensors) learned |= Learn(t, kMaxOperatorsBehindMask, evaluator, arena);
  return learned;
}

// A tensor is 0 where a mask makes it so, or where what it is computed from is.
bool MaskedRegions::Learn(TensorId tensor, int depth, sdfg::SymbolicEvaluator* evaluator,
                          solver::Arena* arena) {
  const sdfg::Tensor& t = problem_.logical.tensors[tensor];
  const bool real = !sdfg::IsInteger(t.dtype) && t.producer != sdfg::kNone;
  const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
  if (!real || empty || depth == 0 || !asked_.insert(tensor).second) return false;
  const std::vector<TensorId> operands = candidates_.OperandsOf(tensor);
  const sdfg::IndexFunction& function = *problem_.logical.operators[t.producer].function;
  bool masks = std::any_of(function.nodes.begin(), function.nodes.end(), ComparesIndices);
  for (const TensorId operand : operands) {
    Learn(operand, depth - 1, evaluator, arena);
    masks = masks || known_.find(operand) != known_.end();
  }
  if (!masks) return false;
  logical_.OpenDownTo(operands);
  evaluator->Forget();
  evaluator->ClearFailure();
  arena->ClearPremises();
  arena->ResetExhausted(kRegionTermBudget);
  const stages::Cell cell = stages::WholeCell(evaluator->symbols(), t.shape);
  const auto value = evaluator->Defined({stages::kLogical, tensor}, cell.index);
  if (!value) return false;
  std::vector<sdfg::IndexMap> forms = stages::ZeroRegion(*value, cell, arena);
  if (forms.empty()) return false;
  known_[tensor] = std::move(forms);
  return true;
}

}  // namespace planproof::inference
