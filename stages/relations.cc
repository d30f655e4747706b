#include "stages/relations.h"

#include "sdfg/operator_library.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::Representation;

Relations::Relations(const lineage::Problem& problem) : problem_(problem) {
  const size_t logical = problem.logical.tensors.size();
  transparent_.assign(logical, false);
  masked_.assign(logical, false);
  unfolded_.assign(logical, false);
  positive_.assign(logical, false);
  int_range_.assign(logical, solver::IntRange{});
  for (const auto& premise : problem.premises) {
    if (premise.kind == lineage::Problem::InputPremise::Kind::kIntegerRange) {
      int_range_[premise.tensor] = {premise.low, premise.high - 1};
    } else if (premise.kind == lineage::Problem::InputPremise::Kind::kPositive) {
      positive_[premise.tensor] = true;
    }
  }
  // A mask stays a mask through operators that neither exponentiate nor take maxima.
  for (const sdfg::Operator& op : problem.logical.operators) {
    bool neg_inf = false, absorbs = false;
    for (const sdfg::Node& n : op.function->nodes) {
      neg_inf |= n.op == Op::kNegInf;
      absorbs |= n.op == Op::kExp || n.op == Op::kReduceMax || n.op == Op::kMax;
    }
    bool masked_input = false;
    for (sdfg::TensorId t : op.inputs) masked_input |= t != kNone && masked_[t];
    const bool masked = neg_inf || (masked_input && !absorbs);
    const bool moves = sdfg::OperatorLibrary::IsDataMovement(*op.function);
    for (sdfg::TensorId t : op.outputs) {
      if (t == kNone) continue;
      masked_[t] = masked;
      transparent_[t] = masked || moves;
    }
  }
  held_.assign(problem.parallel.tensors.size(), false);
  for (size_t t = 0; t < held_.size(); ++t) {
    held_[t] = problem.lineage[t].kind == lineage::LineageKind::kFull;
  }
}

void Relations::FoldAll() { std::fill(unfolded_.begin(), unfolded_.end(), false); }

Representation Relations::Of(sdfg::TensorRef tensor) {
  Representation r;
  if (tensor.graph == kParallel) {
    if (held_[tensor.tensor]) {
      const lineage::Lineage& l = problem_.lineage[tensor.tensor];
      r.kind = Representation::Kind::kAlias;
      r.alias = {kLogical, l.logical};
      r.map = &l.map;
    }
    return r;
  }
  const sdfg::Tensor& t = problem_.logical.tensors[tensor.tensor];
  if (t.producer != kNone && (transparent_[tensor.tensor] || unfolded_[tensor.tensor])) return r;
  r.kind = Representation::Kind::kAtom;
  r.tag = static_cast<uint32_t>(tensor.tensor);
  r.int_range = int_range_[tensor.tensor];
  return r;
}

}  // namespace planproof::stages
