#include "shape_reduction/input_premises.h"

#include <algorithm>
#include <set>

#include "shape_reduction/element_values.h"
#include "shape_reduction/recorded_values.h"

namespace planproof::shape_reduction {
namespace {

using Premise = lineage::Problem::InputPremise;
using Kind = Premise::Kind;

// V: double or int64_t.
template <typename V>
bool Holds(const Premise& premise, const std::vector<PartitionPtr>& dims,
           const std::vector<V>& values) {
  const auto all = [&](auto test) { return std::all_of(values.begin(), values.end(), test); };
  const size_t row = std::max<size_t>(dims.empty() ? 1 : dims.back()->blocks(), 1);
  switch (premise.kind) {
    case Kind::kPositive:
      return all([](V x) { return x > 0; });
    case Kind::kNonNegative:
      return all([](V x) { return x >= 0; });
    case Kind::kNonZero:
      return all([](V x) { return x != 0; });
    case Kind::kIntegerRange:
      return all([&](V x) {
        return x >= static_cast<V>(premise.low) && x < static_cast<V>(premise.high);
      });
    case Kind::kNoTie:
      if (!dims.empty() && dims.back()->blocks() != dims.back()->extent()) return false;
      for (size_t k = 0; k < values.size(); k += row) {
        const auto begin = values.begin() + static_cast<int64_t>(k);
        const std::set<V> different(begin, begin + static_cast<int64_t>(row));
        if (different.size() != row) return false;
      }
      return true;
    case Kind::kRowUnmasked:
      for (size_t k = 0; k < values.size(); k += row) {
        const auto begin = values.begin() + static_cast<int64_t>(k);
        if (std::all_of(begin, begin + static_cast<int64_t>(row), [](V x) { return x == 0; })) {
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
  const auto not_met = [&](sdfg::TensorId id) {
    return "a premise on " + problem.logical.tensors[id].name + " is not met by the inputs tried";
  };
  const std::vector<ElementDomain> domains = DomainsOf(problem);
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] == nullptr) continue;
    if (domains[id].IsEmpty()) {
      return "no element of " + problem.logical.tensors[id].name + " meets its premises";
    }
    const auto tensor = static_cast<sdfg::TensorId>(id);
    if (!domains[id].Admits(*inputs[id])) return not_met(tensor);
    if (!AreAsRecorded(problem, tensor, *inputs[id])) {
      return problem.logical.tensors[id].name + " is not as recorded";
    }
  }
  for (const Premise& premise : problem.premises) {
    const auto& tensor = inputs[premise.tensor];
    const bool holds =
        tensor != nullptr && (tensor->int_valued ? Holds(premise, tensor->dims, tensor->ints)
                                                 : Holds(premise, tensor->dims, tensor->values));
    if (!holds) return not_met(premise.tensor);
  }
  return "";
}

}  // namespace planproof::shape_reduction
