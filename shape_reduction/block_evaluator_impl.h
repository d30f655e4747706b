// Implementation of BlockEvaluator; included by block_evaluator.h only.
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

// Sums of a product that nothing else reads are contracted.
template <typename D>
void BlockEvaluator<D>::PlanContractions() {
  fused_.assign(program_.nodes.size(), 0);
  for (size_t id = program_.nodes.size(); id-- > 0;) {
    if (program_.nodes[id].op != Op::kSum || fused_[id]) continue;
    std::vector<ExprId> chain;
    ExprId below = program_.nodes[id].args[0];
    while (program_.nodes[below].op == Op::kSum && uses_[below] == 1) {
      chain.push_back(below);
      below = program_.nodes[below].args[0];
    }
    if (program_.nodes[below].op != Op::kMul || uses_[below] != 1) continue;
    chain.push_back(below);
    for (ExprId inner : chain) fused_[inner] = 1;
  }
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
      break;
    case Op::kElement:
    case Op::kIntElement:
      Gather(node, &out);
      break;
    case Op::kReal:
      out.r.assign(1, D::FromRational(node.real));
      break;
    case Op::kNegInf:
      out.r.assign(1, D::NegInf());
      break;
    case Op::kPosition:
      for (int64_t value : arrays_[node.args[0]].i) {
        out.r.push_back(value == kInvalidInt ? D::Invalid() : D::FromInt(value));
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
      Select(node, &out);
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
      Boolean(node, &out);
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
void BlockEvaluator<D>::Integer(const Node& node, Array* out) {
  switch (node.op) {
    case Op::kIntConst:
      out->i.assign(1, node.value);
      return;
    case Op::kIndex:
      out->i = out->mask == 0 ? std::vector<int64_t>{0} : partitions_[node.var].Representatives();
      return;
    case Op::kIntAdd: {
      const Array& a = arrays_[node.args[0]];
      const Array& b = arrays_[node.args[1]];
      out->i.reserve(space_.Size(out->mask));
      space_.Walk<2>(out->mask, {a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
        for (int64_t k = 0; k < n; ++k) {
          const int64_t x = a.i[at[0] + k * step[0]], y = b.i[at[1] + k * step[1]];
          int64_t sum;
          const bool bad =
              x == kInvalidInt || y == kInvalidInt || __builtin_add_overflow(x, y, &sum);
          out->i.push_back(bad ? kInvalidInt : sum);
        }
      });
      return;
    }
    default:
      break;
  }
  for (int64_t x : arrays_[node.args[0]].i) {
    int64_t result = kInvalidInt;
    if (x != kInvalidInt) {
      if (node.op == Op::kIntScale) {
        if (__builtin_mul_overflow(x, node.value, &result)) result = kInvalidInt;
      } else {
        const int64_t quotient = x / node.value - (x % node.value < 0);
        result = node.op == Op::kIntDiv ? quotient : x - quotient * node.value;
      }
    }
    out->i.push_back(result);
  }
}

// Position of the read element in its tensor's blocks, over the variables of the indices.
template <typename D>
std::vector<int64_t> BlockEvaluator<D>::Offsets(const Node& node, VarMask* mask) {
  const BlockTensor<V>& input = *inputs_[node.input];
  std::vector<std::pair<VarMask, std::vector<int64_t>>> parts;
  int64_t stride = 1;
  for (size_t d = node.args.size(); d-- > 0;) {
    const Array& arg = arrays_[node.args[d]];
    const DimPartition& dim = *input.dims[d];
    std::vector<int64_t> part(arg.i.size());
    for (size_t k = 0; k < part.size(); ++k) {
      const int64_t index = arg.i[k];
      part[k] = index == kInvalidInt                 ? kBadIndex
                : index < 0 || index >= dim.extent() ? kOutside
                                                     : dim.BlockOf(index) * stride;
    }
    stride *= dim.blocks();
    parts.push_back({arg.mask, std::move(part)});
  }
  // Add up the small ones first.
  std::sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.size() < b.second.size();
  });
  *mask = 0;
  std::vector<int64_t> total = {0};
  for (const auto& [part_mask, part] : parts) {
    const VarMask joined = *mask | part_mask;
    std::vector<int64_t> sum(space_.Size(joined));
    int64_t* result = sum.data();
    space_.Walk<2>(joined, {*mask, part_mask}, [&](int64_t n, const auto& at, const auto& step) {
      for (int64_t k = 0; k < n; ++k) {
        result[k] = total[at[0] + k * step[0]] + part[at[1] + k * step[1]];
      }
      result += n;
    });
    total = std::move(sum);
    *mask = joined;
  }
  return total;
}

template <typename D>
void BlockEvaluator<D>::Gather(const Node& node, Array* out) {
  const BlockTensor<V>& input = *inputs_[node.input];
  const std::vector<int64_t> offsets = Offsets(node, &out->mask);
  if (node.op == Op::kIntElement) {
    out->i.resize(offsets.size());
    for (size_t k = 0; k < offsets.size(); ++k) {
      const int64_t at = offsets[k];
      out->i[k] = at >= 0 ? input.ints[at] : at < kBadIndex / 2 ? kInvalidInt : 0;
    }
    return;
  }
  out->r.resize(offsets.size());
  const V zero = D::FromInt(0);
  for (size_t k = 0; k < offsets.size(); ++k) {
    const int64_t at = offsets[k];
    if (at < 0) {
      out->r[k] = at < kBadIndex / 2 ? D::Invalid() : zero;
    } else if (input.int_valued) {
      out->r[k] = input.ints[at] == kInvalidInt ? D::Invalid() : D::FromInt(input.ints[at]);
    } else {
      out->r[k] = input.values[at];
    }
  }
}

template <typename D>
void BlockEvaluator<D>::Boolean(const Node& node, Array* out) {
  out->b.resize(space_.Size(out->mask));
  Truth* result = out->b.data();
  auto known = [](bool value) { return value ? Truth::kTrue : Truth::kFalse; };
  const Array& a = arrays_[node.args[0]];
  if (node.args.size() == 1) {
    const bool integer = node.op == Op::kNonzero && IsInteger(node.args[0]);
    const V zero = D::FromInt(0);
    for (size_t k = 0; k < out->b.size(); ++k) {
      Truth truth;
      if (node.op == Op::kNot) {
        truth = a.b[k];
      } else if (integer) {
        truth = a.i[k] == kInvalidInt ? Truth::kInvalid : known(a.i[k] == 0);
      } else {
        truth = D::Eq(a.r[k], zero);
      }
      result[k] = truth == Truth::kTrue    ? Truth::kFalse
                  : truth == Truth::kFalse ? Truth::kTrue
                                           : truth;
    }
    return;
  }
  const Array& b = arrays_[node.args[1]];
  space_.Walk<2>(out->mask, {a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t p = at[0] + k * step[0], q = at[1] + k * step[1];
      Truth truth = Truth::kInvalid;
      if (node.op == Op::kIntLess || node.op == Op::kIntLessEq || node.op == Op::kIntEq) {
        const int64_t x = a.i[p], y = b.i[q];
        if (x != kInvalidInt && y != kInvalidInt) {
          truth = known(node.op == Op::kIntLess     ? x < y
                        : node.op == Op::kIntLessEq ? x <= y
                                                    : x == y);
        }
      } else if (node.op == Op::kRealLess) {
        truth = D::Less(a.r[p], b.r[q]);
      } else if (node.op == Op::kRealLessEq) {
        truth = D::LessEq(a.r[p], b.r[q]);
      } else if (node.op == Op::kRealEq) {
        truth = D::Eq(a.r[p], b.r[q]);
      } else {
        const Truth decisive = node.op == Op::kAnd ? Truth::kFalse : Truth::kTrue;
        const Truth x = a.b[p], y = b.b[q];
        truth = x == decisive || y == decisive ? decisive : std::max(x, y);
        if (x != decisive && y != decisive && x == y) truth = x;
        if (truth != decisive && (x >= Truth::kUndecided || y >= Truth::kUndecided)) {
          truth = std::max(x >= Truth::kUndecided ? x : Truth::kUndecided,
                           y >= Truth::kUndecided ? y : Truth::kUndecided);
        }
      }
      *result++ = truth;
    }
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

template <typename D>
typename BlockEvaluator<D>::Array BlockEvaluator<D>::WeightsOf(sdfg::VarId var) const {
  Array weights;
  weights.mask = MaskOf(var);
  if (weights.mask == 0) {
    weights.r.assign(1, D::FromInt(program_.vars[var].extent));
  } else {
    for (int64_t w : partitions_[var].Weights()) weights.r.push_back(D::FromInt(w));
  }
  return weights;
}

// out[out_mask] = sum over all other variables of a * b.
template <typename D>
absl::Status BlockEvaluator<D>::Contract(const Array& a, const Array& b, VarMask out_mask,
                                         Array* out) {
  const VarMask all = a.mask | b.mask | out_mask;
  if (space_.Size(all) > max_elements_ * 64) {
    return absl::ResourceExhaustedError("a sum has more than " +
                                        std::to_string(max_elements_ * 64) + " terms");
  }
  out->mask = out_mask;
  out->r.assign(space_.Size(out_mask), D::FromInt(0));
  V* result = out->r.data();
  const V* left = a.r.data();
  const V* right = b.r.data();
  space_.Walk<3>(all, {out_mask, a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
    V* z = result + at[0];
    const V* x = left + at[1];
    const V* y = right + at[2];
    if (step[0] == 0) {
      V sum = *z;
      if (step[1] == 1 && step[2] == 1) {
        for (int64_t k = 0; k < n; ++k) sum = D::Add(sum, D::Mul(x[k], y[k]));
      } else {
        for (int64_t k = 0; k < n; ++k) {
          sum = D::Add(sum, D::Mul(x[k * step[1]], y[k * step[2]]));
        }
      }
      *z = std::move(sum);
    } else if (step[0] == 1 && step[1] == 0 && step[2] == 1) {
      const V factor = *x;
      for (int64_t k = 0; k < n; ++k) z[k] = D::Add(z[k], D::Mul(factor, y[k]));
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
      const V factor = *y;
      for (int64_t k = 0; k < n; ++k) z[k] = D::Add(z[k], D::Mul(x[k], factor));
    } else {
      for (int64_t k = 0; k < n; ++k) {
        V& slot = z[k * step[0]];
        slot = D::Add(slot, D::Mul(x[k * step[1]], y[k * step[2]]));
      }
    }
  });
  return absl::OkStatus();
}

template <typename D>
absl::Status BlockEvaluator<D>::SumNode(ExprId id, Array* out) {
  std::vector<sdfg::VarId> vars = {program_.nodes[id].var};
  ExprId below = program_.nodes[id].args[0];
  while (program_.nodes[below].op == Op::kSum && fused_[below]) {
    vars.push_back(program_.nodes[below].var);
    below = program_.nodes[below].args[0];
  }
  if (!fused_[below]) {  // one sum of an array
    const Array& body = arrays_[below];
    const VarMask mask = body.mask & ~MaskOf(vars[0]);
    if (absl::Status status = CheckSize(mask); !status.ok()) return status;
    absl::Status status = Contract(body, WeightsOf(vars[0]), mask, out);
    Release(below);
    return status;
  }
  const ExprId left = program_.nodes[below].args[0], right = program_.nodes[below].args[1];
  Array a = Take(left);
  Array b = Take(right);
  for (sdfg::VarId var : vars) {
    const VarMask mask = MaskOf(var);
    const bool plain = partitions_[var].blocks() == program_.vars[var].extent;
    if (plain && (mask == 0 || (a.mask & b.mask & mask) != 0)) continue;  // all weights are 1
    Array& target =
        (a.mask & mask) == 0 || ((b.mask & mask) != 0 && b.r.size() < a.r.size()) ? b : a;
    const bool in_both = (a.mask & b.mask & mask) != 0;
    const VarMask keep = in_both ? target.mask | mask : (target.mask & ~mask);
    Array weighted;
    absl::Status status = Contract(target, WeightsOf(var), keep, &weighted);
    if (!status.ok()) return status;
    target = std::move(weighted);
  }
  VarMask out_mask = a.mask | b.mask;
  for (sdfg::VarId var : vars) out_mask &= ~MaskOf(var);
  if (absl::Status status = CheckSize(out_mask); !status.ok()) return status;
  return Contract(a, b, out_mask, out);
}

template <typename D>
void BlockEvaluator<D>::ReduceExtreme(const Node& node, Array* out) {
  const Array& body = arrays_[node.args[0]];
  const bool max = node.op == Op::kReduceMax;
  const V least = max ? D::NegInf() : D::Neg(D::NegInf());
  out->r.assign(space_.Size(out->mask), least);
  space_.Walk<2>(body.mask | out->mask, {out->mask, body.mask},
                 [&](int64_t n, const auto& at, const auto& step) {
                   for (int64_t k = 0; k < n; ++k) {
                     V& slot = out->r[at[0] + k * step[0]];
                     const V& value = body.r[at[1] + k * step[1]];
                     slot = max ? D::Max(slot, value) : D::Min(slot, value);
                   }
                 });
}

template <typename D>
absl::Status BlockEvaluator<D>::Opaque(const Node& node, Array* out) {
  const OpaqueName parsed = ParseOpaqueName(node.name);
  const int64_t size = space_.Size(out->mask);
  const bool has_row = node.var >= 0;
  const int64_t row_extent = has_row ? program_.vars[node.var].extent : 0;
  // Arguments are brought to the full variable set first; rows are short and few.
  const VarMask row_mask = has_row ? MaskOf(node.var) : 0;
  const int row_rank = has_row ? rank_[node.var] : -1;
  std::vector<std::vector<int64_t>> at(node.args.size());
  for (size_t k = 0; k < node.args.size(); ++k) {
    at[k].reserve(size);
    space_.Walk<1>(out->mask, {arrays_[node.args[k]].mask},
                   [&](int64_t n, const auto& offset, const auto& step) {
                     for (int64_t j = 0; j < n; ++j) at[k].push_back(offset[0] + j * step[0]);
                   });
  }
  std::vector<V> row;
  std::vector<V> reals;
  std::vector<int64_t> ints;
  for (int64_t point = 0; point < size; ++point) {
    row.clear();
    reals.clear();
    ints.clear();
    for (size_t k = 0; k < node.args.size(); ++k) {
      const Array& arg = arrays_[node.args[k]];
      if (has_row && k == 0) {
        const int64_t step = (arg.mask & row_mask) == 0 ? 0 : space_.Stride(arg.mask, row_rank);
        for (int64_t j = 0; j < row_extent; ++j) {
          const int64_t position = at[k][point] + j * step;
          row.push_back(IsInteger(node.args[k]) ? D::FromInt(arg.i[position]) : arg.r[position]);
        }
      } else if (IsInteger(node.args[k])) {
        ints.push_back(arg.i[at[k][point]]);
      } else {
        reals.push_back(arg.r[at[k][point]]);
      }
    }
    int64_t integer = kInvalidInt;
    V value = EvaluateOpaque<D>(parsed, node.name, row, reals, ints, row_extent, &integer);
    if (node.int_valued) {
      out->i.push_back(integer);
    } else {
      out->r.push_back(std::move(value));
    }
  }
  return absl::OkStatus();
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
