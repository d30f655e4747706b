#include "stages/logical_signs.h"

#include <algorithm>

#include "sdfg/symbolic_evaluator.h"
#include "stages/premises.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;
using solver::Affine;

namespace {

// Enough for the root of a norm that is added up in pairs of pairs of a thousand layers.
constexpr int kMostDepth = 12;
constexpr int64_t kTermBudget = 20'000;

class Signs {
 public:
  Signs(const lineage::Problem& problem, Relations* relations)
      : problem_(problem),
        relations_(*relations),
        evaluator_(&arena_, {&problem.logical, &problem.parallel}, relations),
        done_(problem.logical.tensors.size(), false) {
    for (size_t t = 0; t < done_.size(); ++t) Tell(static_cast<TensorId>(t));
  }

  void Infer(TensorId t, int depth) {
    const sdfg::Tensor& tensor = problem_.logical.tensors[t];
    if (done_[t] || tensor.producer == kNone || depth > kMostDepth) return;
    done_[t] = true;
    if (relations_.Masked(t) || sdfg::IsInteger(tensor.dtype)) return;
    for (TensorId input : problem_.logical.operators[tensor.producer].inputs) {
      if (input != kNone) Infer(input, depth + 1);
    }
    arena_.ResetExhausted(kTermBudget);
    evaluator_.ClearFailure();
    sdfg::Indices index;
    for (int64_t extent : tensor.shape) {
      if (extent == 0) return;
      index.push_back(extent == 1 ? Affine(0) : Affine::Of(arena_.NewFree(0, extent - 1)));
    }
    // One cell for the whole tensor, or nothing is said.
    auto value = evaluator_.Defined({kLogical, t}, index);
    if (!value || arena_.exhausted() || value->masked != solver::kZeroPoly) return;
    relations_.SetSign(t, arena_.SignOf(value->value));
    Tell(t);
  }

 private:
  void Tell(TensorId t) {
    if (relations_.Positive(t)) {
      arena_.SetTagPositive(static_cast<uint32_t>(t));
    } else if (relations_.NonNegative(t)) {
      arena_.SetTagNonNegative(static_cast<uint32_t>(t));
    }
  }

  const lineage::Problem& problem_;
  Relations& relations_;
  solver::Arena arena_;
  sdfg::SymbolicEvaluator evaluator_;
  std::vector<bool> done_;
};

}  // namespace

void InferLogicalSigns(const lineage::Problem& problem, Relations* relations) {
  Signs signs(problem, relations);
  for (const sdfg::Operator& op : problem.logical.operators) {
    if (!CanBeUndefined(*op.function)) continue;
    // Derivatives repeat the forward operator's operands; those are inferred there.
    if (op.name.size() > 9 && op.name.compare(op.name.size() - 9, 9, ".backward") == 0) continue;
    for (TensorId t : op.inputs) {
      if (t != kNone) signs.Infer(t, 0);
    }
  }
}

}  // namespace planproof::stages
