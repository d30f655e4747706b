#include "shape_reduction/element_values.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace planproof::shape_reduction {
namespace {

using Premise = lineage::Problem::InputPremise;
using Range = std::pair<int64_t, int64_t>;

// Nothing for types that are the real numbers.
std::optional<Range> ValuesOf(sdfg::DType dtype) {
  const auto signed_bits = [](int bits) {
    return Range{-(int64_t{1} << (bits - 1)), int64_t{1} << (bits - 1)};
  };
  switch (dtype) {
    case sdfg::DType::kInt64:
      return signed_bits(63);  // one less: bounds are computed with
    case sdfg::DType::kInt32:
      return signed_bits(32);
    case sdfg::DType::kInt16:
      return signed_bits(16);
    case sdfg::DType::kInt8:
      return signed_bits(8);
    case sdfg::DType::kUInt8:
      return Range{0, 256};
    case sdfg::DType::kBool:
      return Range{0, 2};
    default:
      return std::nullopt;
  }
}

}  // namespace

int64_t ElementDomain::Nearest(int64_t value) const {
  value = std::clamp(value, low, high - 1);
  if (!nonzero || value != 0) return value;
  return high > 1 ? 1 : -1;
}

ElementDomain DomainOf(const lineage::Problem& problem, sdfg::TensorId tensor) {
  ElementDomain domain;
  const sdfg::DType dtype = problem.logical.tensors[tensor].dtype;
  const std::optional<Range> values = ValuesOf(dtype);
  if (!values) return domain;
  domain.kind =
      dtype == sdfg::DType::kBool ? ElementDomain::Kind::kTruth : ElementDomain::Kind::kInteger;
  domain.low = values->first;
  domain.high = values->second;
  bool ranged = false;
  for (const Premise& premise : problem.premises) {
    if (premise.tensor != tensor) continue;
    switch (premise.kind) {
      case Premise::Kind::kPositive:
        domain.low = std::max<int64_t>(domain.low, 1);
        break;
      case Premise::Kind::kNonNegative:
        domain.low = std::max<int64_t>(domain.low, 0);
        break;
      case Premise::Kind::kNonZero:
        domain.nonzero = true;
        break;
      case Premise::Kind::kIntegerRange:
        ranged = true;
        domain.low = std::max(domain.low, premise.low);
        domain.high = std::min(domain.high, premise.high);
        break;
      case Premise::Kind::kNoTie:
      case Premise::Kind::kRowUnmasked:
        break;  // of rows
    }
  }
  if (!ranged) {
    const Range small = *ValuesOf(sdfg::DType::kInt32);
    domain.low = std::max(domain.low, small.first);
    domain.high = std::min(domain.high, small.second);
  }
  return domain;
}

}  // namespace planproof::shape_reduction
