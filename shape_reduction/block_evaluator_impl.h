// Implements BlockEvaluator's order of variables, order of evaluation and pointwise nodes. Included
// by block_evaluator.h only.
#ifndef PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_IMPL_H_
#define PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_IMPL_H_

#include "shape_reduction/block_evaluator.h"

namespace planproof::shape_reduction {

template <typename D>
absl::Status BlockEvaluator<D>::RankVariables() {
  const size_t count = program_.vars.size();
  std::vector<char> used(count, 0);
  for (const Node& node : program_.nodes) {
    if (node.var >= 0) used[node.var] = 1;
  }
  for (sdfg::VarId var : program_.dims) used[var] = 1;
  for (size_t v = 0; v < count; ++v) {
    if (!used[v]) continue;
    if (partitions_[v].too_fine()) {
      return absl::ResourceExhaustedError("index " + program_.vars[v].name + " of extent " +
                                          std::to_string(program_.vars[v].extent) +
                                          " is cut too finely");
    }
    if (partitions_[v].blocks() != 1) ranked_.push_back(static_cast<sdfg::VarId>(v));
  }
  std::stable_sort(ranked_.begin(), ranked_.end(), [&](sdfg::VarId a, sdfg::VarId b) {
    return partitions_[a].blocks() < partitions_[b].blocks();
  });
  rank_.assign(count, -1);
  std::vector<int64_t> extents;
  if (ranked_.size() > 64) {
    if (!ShareRanks(&extents)) {
      return absl::ResourceExhaustedError("more than 64 index variables at once");
    }
  } else {
    for (size_t r = 0; r < ranked_.size(); ++r) {
      rank_[ranked_[r]] = static_cast<int>(r);
      extents.push_back(partitions_[ranked_[r]].blocks());
    }
  }
  space_ = BlockSpace(std::move(extents));
  return absl::OkStatus();
}

// Variables of equally many blocks share a rank if no node depends on both.
template <typename D>
bool BlockEvaluator<D>::ShareRanks(std::vector<int64_t>* extents) {
  const size_t count = program_.vars.size();
  using Set = std::vector<char>;
  std::vector<Set> free(program_.nodes.size(), Set(count, 0));
  std::vector<Set> conflicts(count, Set(count, 0));
  auto conflict = [&](const Set& together) {
    std::vector<size_t> members;
    for (size_t v = 0; v < count; ++v) {
      if (together[v]) members.push_back(v);
    }
    for (size_t a : members) {
      for (size_t b : members) conflicts[a][b] = 1;
    }
  };
  for (size_t id = 0; id < program_.nodes.size(); ++id) {
    const Node& node = program_.nodes[id];
    Set& set = free[id];
    for (ExprId arg : node.args) {
      for (size_t v = 0; v < count; ++v) set[v] |= free[arg][v];
    }
    if (node.var >= 0) set[node.var] = 1;
    conflict(set);
    if (node.var >= 0 && node.op != Op::kIndex) set[node.var] = 0;
  }
  Set dims(count, 0);
  for (sdfg::VarId var : program_.dims) dims[var] = 1;
  conflict(dims);
  std::vector<std::vector<sdfg::VarId>> members;
  for (sdfg::VarId var : ranked_) {
    size_t r = 0;
    for (; r < members.size(); ++r) {
      const bool same = (*extents)[r] == partitions_[var].blocks();
      if (same && std::none_of(members[r].begin(), members[r].end(),
                               [&](sdfg::VarId other) { return conflicts[var][other]; })) {
        break;
      }
    }
    if (r == members.size()) {
      members.emplace_back();
      extents->push_back(partitions_[var].blocks());
    }
    members[r].push_back(var);
    rank_[var] = static_cast<int>(r);
  }
  return members.size() <= 64;
}

template <typename D>
absl::Status BlockEvaluator<D>::Run(BlockTensor<V>* output, PremiseCheck* premises) {
  if (absl::Status status = RankVariables(); !status.ok()) return status;
  arrays_.resize(program_.nodes.size());
  uses_.assign(program_.nodes.size(), 0);
  for (const Node& node : program_.nodes) {
    for (ExprId arg : node.args) ++uses_[arg];
  }
  ++uses_[program_.body];
  for (const auto& premise : program_.premises) ++uses_[premise.first];
  PlanContractions();
  ranges_ = loose_ != nullptr && std::find(loose_->begin(), loose_->end(), 1) != loose_->end();
  for (ExprId id = 0; id < static_cast<ExprId>(program_.nodes.size()); ++id) {
    if (fused_[id]) continue;
    if (absl::Status status = Evaluate(id); !status.ok()) return status;
  }
  for (const auto& [condition, text] : program_.premises) {
    for (Truth truth : arrays_[condition].b) {
      if (truth == Truth::kTrue) continue;
      if (premises->text.empty() || (truth == Truth::kFalse && !premises->violated)) {
        premises->text = text;
      }
      (truth == Truth::kFalse ? premises->violated : premises->undecided) = true;
    }
  }
  Store(output);
  return absl::OkStatus();
}

template <typename D>
void BlockEvaluator<D>::Release(ExprId id) {
  if (--uses_[id] == 0) arrays_[id] = Array();
}

template <typename D>
typename BlockEvaluator<D>::Array BlockEvaluator<D>::Take(ExprId id) {
  if (--uses_[id] > 0) return arrays_[id];
  return std::exchange(arrays_[id], Array());
}

template <typename D>
absl::Status BlockEvaluator<D>::Evaluate(ExprId id) {
  const Node& node = program_.nodes[id];
  Array& out = arrays_[id];
  if (node.op == Op::kSum) {
    return SumNode(id, &out);
  }
  for (ExprId arg : node.args) out.mask |= arrays_[arg].mask;
  if (node.op == Op::kIndex) out.mask = MaskOf(node.var);
  const bool binds = node.op == Op::kReduceMax || node.op == Op::kReduceMin ||
                     (node.op == Op::kOpaque && node.var >= 0);
  if (binds) out.mask &= ~MaskOf(node.var);
  if (absl::Status status = CheckSize(out.mask); !status.ok()) return status;
  switch (node.op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kIntAdd:
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
      Integer(node, &out);
      if (ranges_) Range(node, &out);
      break;
    case Op::kElement:
    case Op::kIntElement:
      Gather(node, &out);
      break;
    case Op::kWhole:
      for (const V& value : arrays_[node.args[0]].r) out.i.push_back(WholeNumber(value));
      break;
    case Op::kReal:
      out.r.assign(1, D::FromRational(node.real));
      break;
    case Op::kNegInf:
      out.r.assign(1, D::NegInf());
      break;
    case Op::kPosition:
      for (int64_t value : arrays_[node.args[0]].i) {
        out.r.push_back(IsKnownInt(value) ? D::FromInt(value) : D::Invalid());
      }
      break;
    case Op::kIndicator:
      for (Truth truth : arrays_[node.args[0]].b) {
        out.r.push_back(truth == Truth::kUndecided ? D::Hull(D::FromInt(0), D::FromInt(1))
                        : truth == Truth::kInvalid ? D::Invalid()
                                                   : D::FromInt(truth == Truth::kTrue));
      }
      break;
    case Op::kAdd:
      Zip(node, &out, [](const V& a, const V& b) { return D::Add(a, b); });
      break;
    case Op::kMul:
      Zip(node, &out, [](const V& a, const V& b) { return D::Mul(a, b); });
      break;
    case Op::kDiv:
      Zip(node, &out, [](const V& a, const V& b) { return D::Div(a, b); });
      break;
    case Op::kMax:
      Zip(node, &out, [](const V& a, const V& b) { return D::Max(a, b); });
      break;
    case Op::kMin:
      Zip(node, &out, [](const V& a, const V& b) { return D::Min(a, b); });
      break;
    case Op::kNeg:
      Map(node, &out, [](const V& a) { return D::Neg(a); });
      break;
    case Op::kPow:
      Map(node, &out, [&node](const V& a) { return D::Pow(a, node.real); });
      break;
    case Op::kExp:
      Map(node, &out, [](const V& a) { return D::Exp(a); });
      break;
    case Op::kLog:
      Map(node, &out, [](const V& a) { return D::Log(a); });
      break;
    case Op::kErf:
      Map(node, &out, [](const V& a) { return D::Erf(a); });
      break;
    case Op::kSin:
      Map(node, &out, [](const V& a) { return D::Sin(a); });
      break;
    case Op::kCos:
      Map(node, &out, [](const V& a) { return D::Cos(a); });
      break;
    case Op::kAbs:
      Map(node, &out, [](const V& a) { return D::Abs(a); });
      break;
    case Op::kSelect:
      if (IsInteger(id)) {
        SelectInteger(node, &out);
      } else {
        Select(node, &out);
      }
      break;
    case Op::kReduceMax:
    case Op::kReduceMin:
      ReduceExtreme(node, &out);
      break;
    case Op::kOpaque:
      if (absl::Status status = Opaque(node, &out); !status.ok()) return status;
      break;
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq:
    case Op::kRealLess:
    case Op::kRealLessEq:
    case Op::kRealEq:
    case Op::kNonzero:
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
      if (IsLoose(id)) {
        LooseComparison(node, &out);
      } else {
        Boolean(node, &out);
      }
      break;
    case Op::kSum:
      break;
  }
  for (ExprId arg : node.args) Release(arg);
  return absl::OkStatus();
}

template <typename D>
template <typename F>
void BlockEvaluator<D>::Map(const Node& node, Array* out, F f) {
  const std::vector<V>& arg = arrays_[node.args[0]].r;
  out->r.resize(arg.size());
  for (size_t k = 0; k < arg.size(); ++k) out->r[k] = f(arg[k]);
}

template <typename D>
template <typename F>
void BlockEvaluator<D>::Zip(const Node& node, Array* out, F f) {
  const Array& a = arrays_[node.args[0]];
  const Array& b = arrays_[node.args[1]];
  out->r.resize(space_.Size(out->mask));
  V* result = out->r.data();
  const V* left = a.r.data();
  const V* right = b.r.data();
  space_.Walk<2>(out->mask, {a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
    const V* x = left + at[0];
    const V* y = right + at[1];
    if (step[0] == 1 && step[1] == 1) {
      for (int64_t k = 0; k < n; ++k) result[k] = f(x[k], y[k]);
    } else if (step[0] == 1 && step[1] == 0) {
      for (int64_t k = 0; k < n; ++k) result[k] = f(x[k], y[0]);
    } else if (step[0] == 0 && step[1] == 1) {
      for (int64_t k = 0; k < n; ++k) result[k] = f(x[0], y[k]);
    } else {
      for (int64_t k = 0; k < n; ++k) result[k] = f(x[k * step[0]], y[k * step[1]]);
    }
    result += n;
  });
}

template <typename D>
void BlockEvaluator<D>::Select(const Node& node, Array* out) {
  const Array& c = arrays_[node.args[0]];
  const Array& a = arrays_[node.args[1]];
  const Array& b = arrays_[node.args[2]];
  const int64_t size = space_.Size(out->mask);
  out->r.resize(size);
  V* result = out->r.data();
  space_.Walk<3>(out->mask, {c.mask, a.mask, b.mask},
                 [&](int64_t n, const auto& at, const auto& step) {
                   for (int64_t k = 0; k < n; ++k) {
                     const Truth truth = c.b[at[0] + k * step[0]];
                     const V& x = a.r[at[1] + k * step[1]];
                     const V& y = b.r[at[2] + k * step[2]];
                     *result++ = truth == Truth::kTrue        ? x
                                 : truth == Truth::kFalse     ? y
                                 : truth == Truth::kUndecided ? D::Hull(x, y)
                                                              : D::Invalid();
                   }
                 });
}

// Integers are known or not: where it is not decided which of two, the result is not.
template <typename D>
void BlockEvaluator<D>::SelectInteger(const Node& node, Array* out) {
  const Array& c = arrays_[node.args[0]];
  const Array& a = arrays_[node.args[1]];
  const Array& b = arrays_[node.args[2]];
  out->i.reserve(space_.Size(out->mask));
  space_.Walk<3>(out->mask, {c.mask, a.mask, b.mask},
                 [&](int64_t n, const auto& at, const auto& step) {
                   for (int64_t k = 0; k < n; ++k) {
                     const Truth truth = c.b[at[0] + k * step[0]];
                     const int64_t x = a.i[at[1] + k * step[1]], y = b.i[at[2] + k * step[2]];
                     out->i.push_back(truth == Truth::kTrue              ? x
                                      : truth == Truth::kFalse           ? y
                                      : truth == Truth::kInvalid         ? kInvalidInt
                                      : x == y                           ? x
                                      : !IsKnownInt(x) || !IsKnownInt(y) ? std::min(x, y)
                                                                         : kUnknownInt);
                   }
                 });
}

// The one whole number that the value can be.
template <typename D>
int64_t BlockEvaluator<D>::WholeNumber(const V& value) {
  constexpr double kExactlyRepresented = 9007199254740992.0;
  if (D::IsInvalid(value)) return kInvalidInt;
  double low = std::ceil(D::Lower(value)), high = std::floor(D::Upper(value));
  if (!D::kExact) low = high = std::round(D::Lower(value));
  if (!(std::fabs(low) <= kExactlyRepresented) || low != high) return kUnknownInt;
  return static_cast<int64_t>(low);
}

// From the order of the variables' ranks to the order of the output's dimensions.
template <typename D>
void BlockEvaluator<D>::Store(BlockTensor<V>* output) {
  output->dims.clear();
  int64_t blocks = 1;
  for (sdfg::VarId var : program_.dims) {
    output->dims.push_back(std::make_shared<const DimPartition>(partitions_[var]));
    blocks *= partitions_[var].blocks();
  }
  Array& body = arrays_[program_.body];
  output->int_valued = program_.int_valued;
  std::vector<int64_t> offsets = {0};
  offsets.reserve(blocks);
  for (sdfg::VarId var : program_.dims) {
    const int64_t n = partitions_[var].blocks();
    if (n == 1) continue;
    const int64_t step = space_.Stride(body.mask, rank_[var]);
    std::vector<int64_t> next;
    next.reserve(offsets.size() * n);
    for (int64_t base : offsets) {
      for (int64_t k = 0; k < n; ++k) next.push_back(base + k * step);
    }
    offsets = std::move(next);
  }
  if (program_.int_valued) {
    output->ints.resize(offsets.size());
    for (size_t k = 0; k < offsets.size(); ++k) output->ints[k] = body.i[offsets[k]];
  } else {
    output->values.resize(offsets.size());
    for (size_t k = 0; k < offsets.size(); ++k) output->values[k] = body.r[offsets[k]];
  }
}

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_IMPL_H_
