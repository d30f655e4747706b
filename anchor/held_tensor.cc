#include "anchor/held_tensor.h"

#include <algorithm>
#include <cmath>

#include "anchor/expected_rounding.h"
#include "runtime_check/rounding.h"

namespace planproof::anchor {
namespace {

// Of the spread of numbers, what an explanation may leave unexplained.
constexpr double kLittle = 0.125;

// As a number of the type.
double Rounded(double value, sdfg::DType dtype) {
  if (!sdfg::IsFloating(dtype) || dtype == sdfg::DType::kFloat64) return value;
  const auto single = static_cast<float>(value);
  if (!runtime_check::IsNarrowFloat(dtype)) return single;
  return runtime_check::Round(runtime_check::FormatOf(dtype), single);
}

}  // namespace

bool SameNumber(double a, sdfg::DType type_a, double b, sdfg::DType type_b, double allowed) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const bool a_is_narrower = RelativeSpacing(type_a) > RelativeSpacing(type_b);
  const sdfg::DType narrow = a_is_narrower ? type_a : type_b;
  if (type_a != type_b && Rounded(a, narrow) == Rounded(b, narrow)) return true;
  if (allowed == 0 || !std::isfinite(a) || !std::isfinite(b)) return false;
  const double spacing = RelativeSpacing(narrow) * std::max(std::fabs(a), std::fabs(b));
  return std::fabs(a - b) <= allowed + spacing;
}

HeldEvidence EvidenceOf(const HeldTensor::Part& part) {
  const auto count = static_cast<double>(part.values.size());
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < part.values.size(); ++i) sum += part.values.At(i);
  for (int64_t i = 0; i < part.values.size(); ++i) {
    const double own = part.values.At(i) - sum / count;
    squares += own * own;
  }
  const double spread = std::sqrt(squares / count);
  if (!(spread > 0) || !std::isfinite(spread)) return {part.allowed, 1};
  // After steps of warm-up more may be allowed than numbers differ by among themselves.
  const double allowed = std::min(part.allowed, kLittle * spread);
  // Numbers of a type that rounds are equal now and then.
  const double least = std::max(RelativeSpacing(part.dtype), 0x1p-20);
  return {allowed, std::max(allowed / spread, least)};
}

}  // namespace planproof::anchor
