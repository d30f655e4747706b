#include "shape_reduction/input_premises.h"

#include <algorithm>
#include <set>

namespace planproof::shape_reduction {
namespace {

using Premise = lineage::Problem::InputPremise;
using Kind = Premise::Kind;

bool Holds(const Premise& premise, const BlockTensor<double>& tensor) {
  std::vector<double> values = tensor.values;
  if (tensor.int_valued) values.assign(tensor.ints.begin(), tensor.ints.end());
  const auto all = [&](auto test) { return std::all_of(values.begin(), values.end(), test); };
  const size_t row = tensor.dims.empty() ? 1 : tensor.dims.back()->blocks();
  switch (premise.kind) {
    case Kind::kPositive:
      return all([](double x) { return x > 0; });
    case Kind::kNonNegative:
      return all([](double x) { return x >= 0; });
    case Kind::kNonZero:
      return all([](double x) { return x != 0; });
    case Kind::kIntegerRange:
      return all([&](double x) {
        return x >= static_cast<double>(premise.low) && x < static_cast<double>(premise.high);
      });
    case Kind::kNoTie:
      if (!tensor.dims.empty() && tensor.dims.back()->blocks() != tensor.dims.back()->extent()) {
        return false;
      }
      for (size_t k = 0; k < values.size(); k += std::max<size_t>(row, 1)) {
        const auto begin = values.begin() + static_cast<int64_t>(k);
        const std::set<double> different(begin, begin + static_cast<int64_t>(row));
        if (different.size() != row) return false;
      }
      return true;
    case Kind::kRowUnmasked:
      for (size_t k = 0; k < values.size(); k += std::max<size_t>(row, 1)) {
        const auto begin = values.begin() + static_cast<int64_t>(k);
        if (std::all_of(begin, begin + static_cast<int64_t>(row),
                        [](double x) { return x == 0; })) {
          return false;
        }
      }
      return true;
  }
  return false;
}

}  // namespace

std::string UnmetPremise(const lineage::Problem& problem,
                         const std::vector<BlockTensorPtr<double>>& inputs) {
  for (const Premise& premise : problem.premises) {
    const auto& tensor = inputs[premise.tensor];
    if (tensor != nullptr && Holds(premise, *tensor)) continue;
    return "a premise on " + problem.logical.tensors[premise.tensor].name +
           " is not met by the inputs tried";
  }
  return "";
}

}  // namespace planproof::shape_reduction
