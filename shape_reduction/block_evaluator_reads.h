// Implements BlockEvaluator's integer expressions, reads of inputs, conditions and opaque
// functions. Included by block_evaluator.h only.
#ifndef PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_READS_H_
#define PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_READS_H_

#include "shape_reduction/block_evaluator.h"

namespace planproof::shape_reduction {

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
          if (!IsKnownInt(x) || !IsKnownInt(y)) {
            sum = std::min(x, y);
          } else if (__builtin_add_overflow(x, y, &sum)) {
            sum = kInvalidInt;
          }
          out->i.push_back(sum);
        }
      });
      return;
    }
    default:
      break;
  }
  for (int64_t x : arrays_[node.args[0]].i) {
    int64_t result = x;
    if (IsKnownInt(x)) {
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
    // What is read outside is not defined, and only matters where it is not selected. Where indices
    // alone decide that, it was checked that nothing outside is selected: 0 does, also where
    // enclosures leave the selection open.
    const int64_t outside = program_.from_data[node.args[d]] ? kBadIndex : kOutside;
    std::vector<int64_t> part(arg.i.size());
    for (size_t k = 0; k < part.size(); ++k) {
      const int64_t index = arg.i[k];
      part[k] = index == kInvalidInt                 ? kBadIndex
                : index == kUnknownInt               ? kAnyIndex
                : index < 0 || index >= dim.extent() ? outside
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
  for (const auto& entry : parts) {  // no structured binding: Clang 14 cannot capture one
    const VarMask part_mask = entry.first;
    const auto& part = entry.second;
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

// Encloses every element, and 0 for an index outside.
template <typename D>
typename D::Value BlockEvaluator<D>::AnyElement(const BlockTensor<V>& input) const {
  V hull = D::FromInt(0);
  for (const V& value : input.values) hull = D::Hull(hull, value);
  for (int64_t value : input.ints) {
    hull = IsKnownInt(value) ? D::Hull(hull, D::FromInt(value)) : D::Invalid();
  }
  return hull;
}

template <typename D>
void BlockEvaluator<D>::Gather(const Node& node, Array* out) {
  const BlockTensor<V>& input = *inputs_[node.input];
  const std::vector<int64_t> offsets = Offsets(node, &out->mask);
  const auto bad = [](int64_t at) { return at < kBadIndex / 2; };
  const auto any = [](int64_t at) { return at < kAnyIndex / 2; };
  if (node.op == Op::kIntElement) {
    out->i.resize(offsets.size());
    for (size_t k = 0; k < offsets.size(); ++k) {
      const int64_t at = offsets[k];
      out->i[k] = at >= 0 ? input.ints[at] : bad(at) ? kInvalidInt : any(at) ? kUnknownInt : 0;
    }
    return;
  }
  out->r.resize(offsets.size());
  const V zero = D::FromInt(0);
  std::optional<V> hull;
  for (size_t k = 0; k < offsets.size(); ++k) {
    const int64_t at = offsets[k];
    if (at < 0) {
      if (any(at) && !bad(at) && !hull) hull = AnyElement(input);
      out->r[k] = bad(at) ? D::Invalid() : any(at) ? *hull : zero;
    } else if (input.int_valued) {
      out->r[k] = IsKnownInt(input.ints[at]) ? D::FromInt(input.ints[at]) : D::Invalid();
    } else {
      out->r[k] = input.values[at];
    }
  }
}

// Bounds of an integer expression over each block.
template <typename D>
void BlockEvaluator<D>::Range(const Node& node, Array* out) {
  switch (node.op) {
    case Op::kIndex:
      if (out->mask == 0) {
        out->low.assign(1, 0);
        out->high.assign(1, std::max<int64_t>(program_.vars[node.var].extent - 1, 0));
      } else {
        out->low = out->i;
        out->high = partitions_[node.var].Lasts();
      }
      return;
    case Op::kIntAdd: {
      const Array& a = arrays_[node.args[0]];
      const Array& b = arrays_[node.args[1]];
      if (a.low.empty() && b.low.empty()) return;
      const auto add = [&](const std::vector<int64_t>& x, const std::vector<int64_t>& y,
                           std::vector<int64_t>* sum) {
        space_.Walk<2>(out->mask, {a.mask, b.mask},
                       [&](int64_t n, const auto& at, const auto& step) {
                         for (int64_t k = 0; k < n; ++k) {
                           const int64_t u = x[at[0] + k * step[0]], v = y[at[1] + k * step[1]];
                           int64_t w;
                           const bool bad =
                               !IsKnownInt(u) || !IsKnownInt(v) || __builtin_add_overflow(u, v, &w);
                           sum->push_back(bad ? kInvalidInt : w);
                         }
                       });
      };
      add(LowOf(a), LowOf(b), &out->low);
      add(HighOf(a), HighOf(b), &out->high);
      return;
    }
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod: {
      const Array& a = arrays_[node.args[0]];
      if (a.low.empty()) return;
      const int64_t c = node.value;
      const auto floored = [c](int64_t x) { return x / c - (x % c < 0); };
      for (size_t k = 0; k < a.low.size(); ++k) {
        int64_t low = a.low[k], high = a.high[k];
        if (!IsKnownInt(low) || !IsKnownInt(high)) {
          low = high = kInvalidInt;
        } else if (node.op == Op::kIntScale) {
          if (c < 0) std::swap(low, high);
          if (__builtin_mul_overflow(low, c, &low)) low = kInvalidInt;
          if (__builtin_mul_overflow(high, c, &high)) high = kInvalidInt;
        } else if (node.op == Op::kIntDiv) {
          low = floored(low);
          high = floored(high);
        } else if (floored(low) == floored(high)) {
          const int64_t base = floored(low) * c;
          low -= base;
          high -= base;
        } else {
          low = 0;
          high = c - 1;
        }
        out->low.push_back(low);
        out->high.push_back(high);
      }
      return;
    }
    default:
      return;  // constants and elements do not vary within a block
  }
}

// Less or less-or-equal where the operands vary within blocks.
template <typename D>
void BlockEvaluator<D>::LooseComparison(const Node& node, Array* out) {
  const Array& a = arrays_[node.args[0]];
  const Array& b = arrays_[node.args[1]];
  const bool strict = node.op == Op::kIntLess;
  const std::vector<int64_t>&a_low = LowOf(a), &a_high = HighOf(a);
  const std::vector<int64_t>&b_low = LowOf(b), &b_high = HighOf(b);
  out->b.reserve(space_.Size(out->mask));
  space_.Walk<2>(out->mask, {a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t p = at[0] + k * step[0], q = at[1] + k * step[1];
      const bool known = IsKnownInt(a_low[p]) && IsKnownInt(a_high[p]) && IsKnownInt(b_low[q]) &&
                         IsKnownInt(b_high[q]);
      const bool always = strict ? a_high[p] < b_low[q] : a_high[p] <= b_low[q];
      const bool never = strict ? a_low[p] >= b_high[q] : a_low[p] > b_high[q];
      out->b.push_back(!known   ? Truth::kInvalid
                       : always ? Truth::kTrue
                       : never  ? Truth::kFalse
                                : Truth::kUndecided);
    }
  });
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
        truth = a.i[k] == kInvalidInt   ? Truth::kInvalid
                : a.i[k] == kUnknownInt ? Truth::kUndecided
                                        : known(a.i[k] == 0);
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
  const bool itself = node.args[0] == node.args[1];  // however wide its enclosure is
  space_.Walk<2>(out->mask, {a.mask, b.mask}, [&](int64_t n, const auto& at, const auto& step) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t p = at[0] + k * step[0], q = at[1] + k * step[1];
      Truth truth = Truth::kInvalid;
      if (itself && !a.r.empty()) {
        if (!D::IsInvalid(a.r[p])) truth = known(node.op != Op::kRealLess);
      } else if (node.op == Op::kIntLess || node.op == Op::kIntLessEq || node.op == Op::kIntEq) {
        const int64_t x = a.i[p], y = b.i[q];
        if (IsKnownInt(x) != IsKnownInt(y) || x == kUnknownInt) {
          truth = std::min(x, y) == kInvalidInt ? Truth::kInvalid : Truth::kUndecided;
        } else if (IsKnownInt(x)) {
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
  std::unordered_map<int64_t, std::optional<Choice>> choices;  // by where the row begins
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
          if (!IsInteger(node.args[k])) {
            row.push_back(arg.r[position]);
          } else {
            row.push_back(IsKnownInt(arg.i[position]) ? D::FromInt(arg.i[position]) : D::Invalid());
          }
        }
      } else if (IsInteger(node.args[k])) {
        ints.push_back(arg.i[at[k][point]]);
      } else {
        reals.push_back(arg.r[at[k][point]]);
      }
    }
    int64_t integer = kInvalidInt;
    V value = EvaluateOpaque<D>(parsed, node.name, row, reals, ints, row_extent, loose_ != nullptr,
                                &choices[has_row ? at[0][point] : 0], &integer);
    if (node.int_valued) {
      out->i.push_back(integer);
    } else {
      out->r.push_back(std::move(value));
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_READS_H_
