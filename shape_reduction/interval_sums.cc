#include "shape_reduction/interval_sums.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>

namespace planproof::shape_reduction {

namespace {

using Pair = double __attribute__((vector_size(16)));  // a negated lower bound, an upper one

Pair Larger(Pair a, Pair b) { return a > b ? a : b; }

// All four products of the bounds, of which the least and the largest bound the interval.
Pair Product(const Interval& x, const Interval& y) {
  const Pair low = {-x.lo, x.lo}, high = {-x.hi, x.hi};
  const Pair y_low = {y.lo, y.lo}, y_high = {y.hi, y.hi};
  return Larger(Larger(low * y_low, low * y_high), Larger(high * y_low, high * y_high));
}

}  // namespace

bool AllBounded(const std::vector<Interval>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Interval& x) { return std::isfinite(x.lo) && std::isfinite(x.hi); });
}

UpwardRounding::UpwardRounding() : before_(std::fegetround()) { std::fesetround(FE_UPWARD); }
UpwardRounding::~UpwardRounding() { std::fesetround(before_); }

// Not inlined: no compiler is to move its arithmetic to where another mode holds.
__attribute__((noinline)) void AddProducts(int64_t n, OutwardSum* sums, int64_t sum_step,
                                           const Interval* x, int64_t x_step, const Interval* y,
                                           int64_t y_step) {
  if (sum_step == 0) {
    Pair sum = {sums->minus_lo, sums->hi};
    for (int64_t k = 0; k < n; ++k) sum += Product(x[k * x_step], y[k * y_step]);
    *sums = {sum[0], sum[1]};
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    OutwardSum& slot = sums[k * sum_step];
    const Pair sum = Pair{slot.minus_lo, slot.hi} + Product(x[k * x_step], y[k * y_step]);
    slot = {sum[0], sum[1]};
  }
}

bool ToIntervals(const std::vector<OutwardSum>& sums, std::vector<Interval>* intervals) {
  intervals->resize(sums.size());
  bool bounded = true;
  for (size_t k = 0; k < sums.size(); ++k) {
    const OutwardSum& sum = sums[k];
    bounded &= std::isfinite(sum.minus_lo) && std::isfinite(sum.hi);
    (*intervals)[k] = {0.0 - sum.minus_lo, sum.hi + 0.0};  // never -0
  }
  return bounded;
}

}  // namespace planproof::shape_reduction
