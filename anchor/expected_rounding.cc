#include "anchor/expected_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "runtime_check/comparison.h"
#include "runtime_check/rounding.h"

namespace planproof::anchor {

double RelativeSpacing(sdfg::DType dtype) {
  return sdfg::IsFloating(dtype) ? runtime_check::EpsilonOf(dtype) : 0;
}

RoundingMeasure::RoundingMeasure(sdfg::DType dtype) : spacing_(RelativeSpacing(dtype)), least_(0) {
  if (!sdfg::IsFloating(dtype)) return;
  // Of subnormal numbers, which are equally far apart.
  const runtime_check::FloatFormat& format = runtime_check::FormatOf(dtype);
  least_ = std::ldexp(spacing_, format.least_exponent);
}

void RoundingMeasure::Add(int64_t position, double value, double expected, double change) {
  if (value == expected || (std::isnan(value) && std::isnan(expected))) {
    if (!std::isfinite(expected)) return;
  }
  const double unit =
      std::isfinite(expected) ? std::max(spacing_ * std::fabs(expected), least_) : 0;
  const long double own =
      std::max(static_cast<long double>(change), static_cast<long double>(unit) * unit);
  if (std::isfinite(expected)) norm_ += static_cast<long double>(expected) * expected;
  change_ += own;
  change_squares_ += own * own;
  if (value == expected) return;
  const double difference = std::fabs(value - expected);
  if (!std::isfinite(difference)) {
    if (!infinite_) {
      position_ = position;
      value_ = value;
      expected_ = expected;
    }
    infinite_ = true;
    return;
  }
  error_ += static_cast<long double>(difference) * difference;
  if (infinite_ || difference <= most_) return;
  most_ = difference;
  position_ = position;
  value_ = value;
  expected_ = expected;
}

double RoundingMeasure::bound() const {
  if (change_squares_ == 0) return 1;
  // As many values as large as each other would be as uncertain.
  const auto values = static_cast<int64_t>(
      std::max<long double>(1, std::round(change_ * change_ / change_squares_)));
  return runtime_check::RatioBound(values, runtime_check::Roundings::kMany);
}

bool RoundingMeasure::differs() const {
  if (infinite_) return true;
  if (error_ == 0) return false;
  return change_ == 0 || static_cast<double>(std::sqrt(error_ / change_)) > bound();
}

bool RoundingMeasure::blind() const {
  return change_ > 0 &&
         bound() * static_cast<double>(std::sqrt(change_)) >= static_cast<double>(std::sqrt(norm_));
}

double RoundingMeasure::error() const {
  if (infinite_) return std::numeric_limits<double>::infinity();
  if (error_ == 0) return 0;
  return norm_ > 0 ? static_cast<double>(std::sqrt(error_ / norm_))
                   : std::numeric_limits<double>::infinity();
}

std::string NumberText(double value, double other) {
  for (int digits = 5; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    if (text != absl::StrFormat("%.*g", digits, other)) return text;
  }
  return absl::StrFormat("%.17g", value);
}

}  // namespace planproof::anchor
