#include "diagnosis/multiples.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lineage/multiple.h"

namespace planproof::diagnosis {

using sdfg::kNone;
using sdfg::TensorId;

solver::Rational Multiples::Factor(TensorId parallel) const {
  const lineage::Lineage& l = problem_.lineage[parallel];
  if (l.kind != lineage::LineageKind::kFull) return 1;
  return lineage::AsMultiple(problem_.logical, l.logical).factor;
}

bool Multiples::AreReadBy(const sdfg::Operator& op) const {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](TensorId t) { return t != kNone && !Factor(t).IsOne(); });
}

sdfg::OperatorId Multiples::Origin(TensorId parallel) const {
  for (;;) {
    const sdfg::OperatorId producer = problem_.parallel.tensors[parallel].producer;
    if (producer == kNone) return kNone;
    const TensorId nearest = Nearest(problem_.parallel.operators[producer].inputs);
    if (nearest == kNone) return producer;
    parallel = nearest;
  }
}

TensorId Multiples::Nearest(std::vector<TensorId> tensors) const {
  std::set<TensorId> seen;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorId t = tensors[i];
    if (t == kNone || !seen.insert(t).second) continue;
    if (!Factor(t).IsOne()) return t;
    const sdfg::OperatorId producer = problem_.parallel.tensors[t].producer;
    if (problem_.lineage[t].kind == lineage::LineageKind::kFull || producer == kNone) continue;
    const auto& inputs = problem_.parallel.operators[producer].inputs;
    tensors.insert(tensors.end(), inputs.begin(), inputs.end());
  }
  return kNone;
}

}  // namespace planproof::diagnosis
