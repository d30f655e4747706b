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

bool ElementDomain::Admits(const BlockTensor<double>& tensor) const {
  switch (kind) {
    case Kind::kReal:
      return !tensor.int_valued;
    case Kind::kTruth:
      return !tensor.int_valued && std::all_of(tensor.values.begin(), tensor.values.end(),
                                               [](double x) { return x == 0 || x == 1; });
    case Kind::kInteger:
      return tensor.int_valued &&
             std::all_of(tensor.ints.begin(), tensor.ints.end(),
                         [&](int64_t x) { return IsKnownInt(x) && Contains(x); });
  }
  return false;
}

int64_t ElementDomain::Nearest(int64_t value) const {
  value = std::clamp(value, low, high - 1);
  if (!nonzero || value != 0) return value;
  return high > 1 ? 1 : -1;
}

std::vector<ElementDomain> DomainsOf(const lineage::Problem& problem) {
  const std::vector<sdfg::Tensor>& tensors = problem.logical.tensors;
  std::vector<ElementDomain> domains(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const std::optional<Range> values = ValuesOf(tensors[t].dtype);
    if (!values) continue;
    domains[t].kind = tensors[t].dtype == sdfg::DType::kBool ? ElementDomain::Kind::kTruth
                                                             : ElementDomain::Kind::kInteger;
    domains[t].low = values->first;
    domains[t].high = values->second;
  }
  std::vector<char> ranged(tensors.size(), 0);
  for (const Premise& premise : problem.premises) {
    ElementDomain& domain = domains[premise.tensor];
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
        ranged[premise.tensor] = 1;
        domain.low = std::max(domain.low, premise.low);
        domain.high = std::min(domain.high, premise.high);
        break;
      case Premise::Kind::kNoTie:
      case Premise::Kind::kRowUnmasked:
        break;  // of rows
    }
  }
  const Range small = *ValuesOf(sdfg::DType::kInt32);
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (ranged[t]) continue;
    domains[t].low = std::max(domains[t].low, small.first);
    domains[t].high = std::min(domains[t].high, small.second);
  }
  return domains;
}

}  // namespace planproof::shape_reduction
