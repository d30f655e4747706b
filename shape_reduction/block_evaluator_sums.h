// Implements BlockEvaluator's weighted sums, contractions and maxima. Included by block_evaluator.h
// only.
#ifndef PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_SUMS_H_
#define PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_SUMS_H_

#include <type_traits>

#include "shape_reduction/block_evaluator.h"
#include "shape_reduction/interval_sums.h"

namespace planproof::shape_reduction {

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
  const int64_t size = space_.Size(out_mask);
  if constexpr (std::is_same_v<D, IntervalDomain>) {
    if (AllBounded(a.r) && AllBounded(b.r)) {
      std::vector<OutwardSum> sums(size);
      {
        const UpwardRounding upward;
        space_.Walk<3>(all, {out_mask, a.mask, b.mask}, [&](int64_t n, auto at, auto step) {
          AddProducts(n, &sums[at[0]], step[0], &a.r[at[1]], step[1], &b.r[at[2]], step[2]);
        });
      }
      if (ToIntervals(sums, &out->r)) return absl::OkStatus();
    }
  }
  out->r.assign(size, D::FromInt(0));
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

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_BLOCK_EVALUATOR_SUMS_H_
