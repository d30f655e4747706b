#include "stages/unstated_lineage.h"

#include <algorithm>
#include <vector>

namespace planproof::stages {

Unstated UnstatedLineage(const lineage::Problem& problem, const Cone& cone) {
  bool stated = false, unstated = false;
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    if (!cone.tensors[t] || problem.parallel.tensors[t].producer == sdfg::kNone) continue;
    const bool none = problem.lineage[t].kind == lineage::LineageKind::kNone;
    (none ? unstated : stated) = true;
  }
  if (!unstated) return Unstated::kNothing;
  return stated ? Unstated::kSome : Unstated::kAll;
}

bool IsShort(const lineage::Problem& problem) {
  constexpr int kShort = 64;
  int computed = 0;
  for (const sdfg::Tensor& tensor : problem.parallel.tensors) {
    computed += tensor.producer != sdfg::kNone ? 1 : 0;
  }
  return computed <= kShort;
}

void ForgetWhatFaultsLookLike(lineage::Problem* problem) {
  const auto logical_of = [&](sdfg::TensorId t) {
    const lineage::Lineage& l = problem->lineage[t];
    return l.kind == lineage::LineageKind::kFull ? l.logical : sdfg::kNone;
  };
  std::vector<size_t> forget;
  for (size_t t = 0; t < problem->lineage.size(); ++t) {
    const lineage::Lineage& l = problem->lineage[t];
    const sdfg::OperatorId producer = problem->parallel.tensors[t].producer;
    if (l.kind != lineage::LineageKind::kFull || producer == sdfg::kNone ||
        l.provenance != lineage::Provenance::kInferred) {
      continue;
    }
    const sdfg::OperatorId source = problem->logical.tensors[l.logical].producer;
    const bool multiple = source != sdfg::kNone &&
                          problem->logical.operators[source].kind == sdfg::OperatorKind::kMultiple;
    const auto& inputs = problem->parallel.operators[producer].inputs;
    const bool copy = std::any_of(inputs.begin(), inputs.end(), [&](sdfg::TensorId input) {
      return input != sdfg::kNone && logical_of(input) == l.logical;
    });
    if (multiple || copy) forget.push_back(t);
  }
  for (const size_t t : forget) problem->lineage[t] = {};
}

}  // namespace planproof::stages
