#include "anchor/held_tensor.h"

#include <algorithm>

#include "anchor/expected_rounding.h"
#include "runtime_check/rounding.h"

namespace planproof::anchor {
namespace {

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

}  // namespace planproof::anchor
