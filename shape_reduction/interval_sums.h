// Adds up products of bounded intervals, rounding upward instead of widening after each operation,
// which takes a fraction of the time. Lower bounds are negated, so that one mode rounds both
// outward; what is exact stays exact.
#ifndef PLANPROOF_SHAPE_REDUCTION_INTERVAL_SUMS_H_
#define PLANPROOF_SHAPE_REDUCTION_INTERVAL_SUMS_H_

#include <cstdint>
#include <vector>

#include "shape_reduction/domain_interval.h"

namespace planproof::shape_reduction {

// Neither infinite nor invalid.
bool AllBounded(const std::vector<Interval>& values);

// Floating-point operations round upward while it lives. Functions of the C library and everything
// that rounds outward by itself (IntervalDomain) are not to be called meanwhile.
class UpwardRounding {
 public:
  UpwardRounding();
  ~UpwardRounding();
  UpwardRounding(const UpwardRounding&) = delete;
  UpwardRounding& operator=(const UpwardRounding&) = delete;

 private:
  const int before_;
};

// An interval that is being summed up.
struct OutwardSum {
  double minus_lo = 0, hi = 0;
};

// sums[k * sum_step] += x[k * x_step] * y[k * y_step] for all 0 <= k < n, all x and y bounded.
// Under UpwardRounding only.
void AddProducts(int64_t n, OutwardSum* sums, int64_t sum_step, const Interval* x, int64_t x_step,
                 const Interval* y, int64_t y_step);

// False, with `intervals` undefined, if a sum went out of range.
bool ToIntervals(const std::vector<OutwardSum>& sums, std::vector<Interval>* intervals);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INTERVAL_SUMS_H_
