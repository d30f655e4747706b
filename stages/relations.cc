#include "stages/relations.h"

#include <algorithm>

#include "sdfg/infinite_values.h"
#include "sdfg/operator_library.h"
#include "stages/cone.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::Representation;
using sdfg::TensorId;

namespace {

// Per logical tensor: the tensor of which it is a multiple for lineage; kNone for other tensors.
std::vector<TensorId> MultiplesOf(const sdfg::Graph& logical) {
  std::vector<TensorId> of(logical.tensors.size(), kNone);
  for (const sdfg::Operator& op : logical.operators) {
    if (op.kind == sdfg::OperatorKind::kMultiple) of[op.outputs[0]] = op.inputs[0];
  }
  return of;
}

std::vector<bool> ModelCone(const lineage::Problem& problem) {
  const sdfg::Graph& g = problem.logical;
  std::vector<bool> cone(g.tensors.size(), false);
  std::vector<TensorId> work;
  for (const auto& required : problem.required) work.push_back(required.lineage.logical);
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t == kNone || cone[t]) continue;
    cone[t] = true;
    if (g.tensors[t].producer == kNone) continue;
    const auto& inputs = g.operators[g.tensors[t].producer].inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  }
  return cone;
}

}  // namespace

Relations::Relations(const lineage::Problem& problem)
    : problem_(problem), in_model_cone_(ModelCone(problem)) {
  const size_t logical = problem.logical.tensors.size();
  inlined_.assign(logical, false);
  zero_.assign(logical, false);
  masked_.assign(logical, false);
  unfolded_.assign(logical, false);
  positive_.assign(logical, false);
  nonnegative_.assign(logical, false);
  int_range_.assign(logical, solver::IntRange{});
  for (const auto& premise : problem.premises) {
    if (premise.kind == lineage::Problem::InputPremise::Kind::kIntegerRange) {
      int_range_[premise.tensor] = {premise.low, premise.high - 1};
    } else if (premise.kind == lineage::Problem::InputPremise::Kind::kPositive) {
      positive_[premise.tensor] = true;
    } else if (premise.kind == lineage::Problem::InputPremise::Kind::kNonNegative) {
      nonnegative_[premise.tensor] = true;
    }
  }
  multiple_of_ = MultiplesOf(problem.logical);
  for (const sdfg::Operator& op : problem.logical.operators) {
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId t = op.outputs[k];
      if (t == kNone) continue;
      masked_[t] = MayBeMasked(op, op.function->outputs[k].body);
      inlined_[t] = masked_[t] || sdfg::OperatorLibrary::IsDataMovement(*op.function);
    }
  }
  state_.assign(problem.parallel.tensors.size(), RelationState::kNone);
  std::vector<bool> meant(logical, false);
  // What nothing required is computed from is not claimed, and so is not known to be a number.
  const Cone cone = ConeOfRequired(problem);
  for (size_t t = 0; t < state_.size(); ++t) {
    if (problem.lineage[t].kind != lineage::LineageKind::kFull) continue;
    const bool given = problem.parallel.tensors[t].producer == kNone;
    state_[t] = given ? RelationState::kGiven : RelationState::kAssumed;
    meant[problem.lineage[t].logical] =
        meant[problem.lineage[t].logical] || given || cone.tensors[t];
  }
  // What is said to be a multiple of a tensor is written in terms of that tensor.
  for (size_t t = 0; t < logical; ++t) {
    if (multiple_of_[t] == kNone) continue;
    inlined_[t] = true;
    if (meant[t]) meant[multiple_of_[t]] = true;
  }
  // What no parallel tensor is said to be occurs on the logical side only: as an unknown value it
  // could not be matched.
  for (size_t t = 0; t < logical; ++t) {
    if (!meant[t] && problem.logical.tensors[t].producer != kNone) inlined_[t] = true;
  }
}

// A mask stays a mask unless it is exponentiated or a maximum is taken.
bool Relations::MayBeMasked(const sdfg::Operator& op, sdfg::ExprId body) const {
  const sdfg::IndexFunction& f = *op.function;
  std::vector<bool> seen(f.nodes.size(), false);
  std::vector<sdfg::ExprId> work = {body};
  while (!work.empty()) {
    const sdfg::ExprId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const sdfg::Node& n = f.nodes[id];
    if (n.op == Op::kNegInf) return true;
    if (n.op == Op::kElement && op.inputs[n.input] != kNone && masked_[op.inputs[n.input]])
      return true;
    if (n.op == Op::kExp || n.op == Op::kMax || n.op == Op::kReduceMax) continue;
    work.insert(work.end(), n.args.begin(), n.args.end());
  }
  return false;
}

bool Relations::MayBeInfinite(sdfg::TensorRef tensor) {
  const bool parallel = tensor.graph == kParallel;
  std::vector<bool>& infinite = parallel ? infinite_parallel_ : infinite_logical_;
  if (infinite.empty())
    infinite = sdfg::MayBeInfinite(parallel ? problem_.parallel : problem_.logical);
  return infinite[tensor.tensor];
}

bool Relations::MayBeZero(sdfg::TensorId logical) const {
  const sdfg::Tensor& t = problem_.logical.tensors[logical];
  return t.producer != kNone && !sdfg::IsInteger(t.dtype) && !masked_[logical] &&
         std::find(t.shape.begin(), t.shape.end(), 0) == t.shape.end();
}

void Relations::FoldAll() { std::fill(unfolded_.begin(), unfolded_.end(), false); }

solver::PremiseSource Relations::SourceOf(sdfg::TensorRef tensor) const {
  const sdfg::Graph& g = tensor.graph == kParallel ? problem_.parallel : problem_.logical;
  const sdfg::OperatorId producer = g.tensors[tensor.tensor].producer;
  return {tensor.graph == kLogical && in_model_cone_[tensor.tensor],
          producer == kNone ? -1 : PremiseNumber(tensor.graph, producer)};
}

Representation Relations::Of(sdfg::TensorRef tensor) {
  Representation r;
  if (tensor.graph == kParallel) {
    if (Related(tensor.tensor)) {
      const lineage::Lineage& l = problem_.lineage[tensor.tensor];
      r.kind = Representation::Kind::kAlias;
      r.alias = {kLogical, l.logical};
      r.map = &l.map;
    }
    return r;
  }
  if (zero_[tensor.tensor]) {
    r.kind = Representation::Kind::kZero;
    return r;
  }
  const sdfg::Tensor& t = problem_.logical.tensors[tensor.tensor];
  if (t.producer != kNone && (inlined_[tensor.tensor] || unfolded_[tensor.tensor])) return r;
  r.kind = Representation::Kind::kAtom;
  r.tag = static_cast<uint32_t>(tensor.tensor);
  r.int_range = int_range_[tensor.tensor];
  r.zero_unless = ZeroUnless(tensor.tensor);
  return r;
}

}  // namespace planproof::stages
