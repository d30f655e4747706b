#include "shape_reduction/confirmation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/input_text.h"
#include "shape_reduction/problem_evaluation.h"
#include "shape_reduction/witness_data.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;

namespace {

constexpr int kMaxDigits = 136;

std::string Text(double low, double high) {
  char buffer[80];
  if (low == high) {
    std::snprintf(buffer, sizeof(buffer), "%.17g", low);
  } else {
    std::snprintf(buffer, sizeof(buffer), "[%.17g, %.17g]", low, high);
  }
  return buffer;
}

template <typename D>
typename D::Value ElementAt(const BlockTensor<typename D::Value>& tensor,
                            const std::vector<int64_t>& index) {
  const int64_t offset = tensor.Offset(index);
  if (!tensor.int_valued) return tensor.values[offset];
  const int64_t value = tensor.ints[offset];
  return IsKnownInt(value) ? D::FromInt(value) : D::Invalid();
}

// The enclosures of one element, both graphs evaluated.
template <typename D>
Enclosures Compare(ProblemEvaluation<D>* evaluation, const Spot& spot, int64_t max_elements) {
  Enclosures result;
  const lineage::RequiredRelation& relation = *spot.relation;
  BlockTensorPtr<typename D::Value> claimed;
  const absl::Status status =
      evaluation->Claimed(relation.parallel, relation.lineage, max_elements, &claimed);
  if (!status.ok()) {
    result.message = std::string(status.message());
    return result;
  }
  if (evaluation->parallel()[relation.parallel] == nullptr) {
    result.message = "the parallel tensor has no value";
    return result;
  }
  const auto logical = ElementAt<D>(*claimed, spot.index);
  const auto parallel = ElementAt<D>(*evaluation->parallel()[relation.parallel], spot.index);
  if constexpr (std::is_same_v<D, IntervalDomain>) {
    result.undefined = D::CertainlyUndefined(parallel) != UndefinedBy::kNothing &&
                       std::isfinite(logical.lo) && std::isfinite(logical.hi);
    if (result.undefined) {
      result.logical_low = logical.lo;
      result.logical_high = logical.hi;
      result.logical_text = Text(logical.lo, logical.hi);
      return result;
    }
  }
  if (D::IsInvalid(logical) || D::IsInvalid(parallel)) {
    result.message = "the element is undefined in interval arithmetic";
    result.open_premise = true;
    return result;
  }
  result.logical_low = D::Lower(logical);
  result.logical_high = D::Upper(logical);
  result.parallel_low = D::Lower(parallel);
  result.parallel_high = D::Upper(parallel);
  result.disjoint =
      D::Less(logical, parallel) == Truth::kTrue || D::Less(parallel, logical) == Truth::kTrue;
  if constexpr (std::is_same_v<D, MpfiDomain>) {
    // With as many digits as tell them apart.
    for (int digits = 17; digits <= kMaxDigits; digits *= 2) {
      result.logical_text = logical.ToString(digits);
      result.parallel_text = parallel.ToString(digits);
      if (!result.disjoint || result.logical_text != result.parallel_text) break;
    }
  } else {
    result.logical_text = Text(result.logical_low, result.logical_high);
    result.parallel_text = Text(result.parallel_low, result.parallel_high);
  }
  if (!result.disjoint) {
    result.message = "enclosures overlap: " + result.logical_text + " and " + result.parallel_text;
  }
  return result;
}

template <typename D>
Enclosures Enclose(const lineage::Problem& problem, const std::vector<Spot>& spots,
                   const std::vector<BlockTensorPtr<double>>& inputs,
                   const std::vector<TensorId>& proved, ReducedOptions options,
                   ProgramCache* programs, size_t* which) {
  Enclosures result;
  ProblemEvaluation<D> evaluation(problem, programs);
  bool invalid = false;
  options.free_intermediates = true;
  for (const Spot& spot : spots) options.cone_of.push_back(spot.relation->lineage.logical);
  options.on_produced = [&](TensorId id) {
    const auto& tensor = *evaluation.logical()[id];
    invalid |= std::any_of(tensor.values.begin(), tensor.values.end(),
                           [](const typename D::Value& x) { return D::IsInvalid(x); });
    invalid |= std::find(tensor.ints.begin(), tensor.ints.end(), kInvalidInt) != tensor.ints.end();
    return !invalid;
  };
  absl::Status status = evaluation.EvaluateLogical(inputs, options);
  if (status.ok() && invalid) {
    result.message = "a premise of the logical graph is not decided in interval arithmetic";
    result.open_premise = true;
    return result;
  }
  options.cone_of.clear();
  for (const Spot& spot : spots) options.cone_of.push_back(spot.relation->parallel);
  std::map<TensorId, UndefinedBy> undefined;  // intermediate values are not kept
  options.on_produced = nullptr;
  if constexpr (std::is_same_v<D, IntervalDomain>) {
    options.on_produced = [&](TensorId id) {
      const UndefinedBy by = AnyUndefined(*evaluation.parallel()[id]);
      if (by != UndefinedBy::kNothing) undefined[id] = by;
      return true;
    };
  }
  if (status.ok()) status = evaluation.EvaluateParallel(options);
  if (!status.ok()) {
    result.message = std::string(status.message());
    return result;
  }
  if (!evaluation.open_premise().empty()) {
    result.message = "premise not decided: " + evaluation.open_premise();
    result.open_premise = true;
    return result;
  }
  for (size_t k = 0; k < spots.size() && !result.disjoint && !result.undefined; ++k) {
    *which = k;
    result = Compare<D>(&evaluation, spots[k], options.max_elements);
  }
  if (result.undefined) {
    result.origin = FindUndefinedOrigin(
        problem.parallel, spots[*which].relation->parallel, proved, [&](TensorId id) {
          const auto at = undefined.find(id);
          return at == undefined.end() ? UndefinedBy::kNothing : at->second;
        });
  }
  return result;
}

}  // namespace

Enclosures EnclosuresOf(const Gap& gap) {
  return {.disjoint = gap.left.hi < gap.right.lo || gap.right.hi < gap.left.lo,
          .logical_low = gap.left.lo,
          .logical_high = gap.left.hi,
          .parallel_low = gap.right.lo,
          .parallel_high = gap.right.hi,
          .logical_text = Text(gap.left.lo, gap.left.hi),
          .parallel_text = Text(gap.right.lo, gap.right.hi),
          .precision = kDoubleBits};
}

Enclosures EnclosuresOf(const MissingValue& missing) {
  return {.undefined = true,
          .origin = missing.origin,
          .logical_low = missing.left.lo,
          .logical_high = missing.left.hi,
          .logical_text = Text(missing.left.lo, missing.left.hi),
          .precision = kDoubleBits};
}

bool Confirm(const lineage::Problem& problem, int required, const std::vector<int64_t>& index,
             const Enclosures& enclosures, const std::vector<BlockTensorPtr<double>>& inputs,
             const WitnessOptions& options, Witness* witness) {
  const bool apart = enclosures.disjoint && (enclosures.logical_high < enclosures.parallel_low ||
                                             enclosures.parallel_high < enclosures.logical_low ||
                                             enclosures.precision > kDoubleBits);
  const bool undefined = !apart && enclosures.undefined && enclosures.origin.tensor != sdfg::kNone;
  if (!apart && !undefined) return false;
  const lineage::RequiredRelation& relation = problem.required[required];
  witness->outcome = Witness::Outcome::kConfirmed;
  witness->required = required;
  witness->parallel_index = index;
  witness->logical_index = relation.lineage.LogicalIndex(index);
  witness->logical_low = enclosures.logical_low;
  witness->logical_high = enclosures.logical_high;
  witness->logical_value = enclosures.logical_text;
  witness->precision = enclosures.precision;
  if (undefined) {
    witness->parallel_value = "undefined";
    witness->undefined = enclosures.origin;
  } else {
    witness->parallel_low = enclosures.parallel_low;
    witness->parallel_high = enclosures.parallel_high;
    witness->parallel_value = enclosures.parallel_text;
  }
  witness->inputs = DescribeInputs(problem, inputs, options.max_printed_values);
  witness->data = nullptr;
  if (!options.keep_data) return true;
  auto data = std::make_shared<witness::Witness>();
  data->inputs = ToData(problem, inputs);
  data->difference = {.what = relation.what,
                      .logical_tensor = problem.logical.tensors[relation.lineage.logical].name,
                      .parallel_tensor = problem.parallel.tensors[relation.parallel].name,
                      .logical_index = witness->logical_index,
                      .parallel_index = witness->parallel_index,
                      .logical = {witness->logical_low, witness->logical_high},
                      .undefined = undefined,
                      .parallel = {witness->parallel_low, witness->parallel_high},
                      .logical_value = witness->logical_value,
                      .parallel_value = witness->parallel_value,
                      .precision = witness->precision};
  if (undefined) data->difference.parallel = {};
  witness->data = std::move(data);
  return true;
}

Enclosures ConfirmDifference(const lineage::Problem& problem, const std::vector<Spot>& spots,
                             const std::vector<BlockTensorPtr<double>>& inputs, int bits,
                             const std::vector<TensorId>& proved, int64_t max_elements,
                             WorkClock::time_point deadline, ProgramCache* programs,
                             size_t* which) {
  ReducedOptions options;
  options.max_elements = max_elements;
  options.deadline = deadline;
  Enclosures result;
  *which = 0;
  result.message = UnmetPremise(problem, inputs);
  if (!result.message.empty()) return result;
  if (bits <= kDoubleBits) {
    result = Enclose<IntervalDomain>(problem, spots, inputs, proved, options, programs, which);
  } else {
    MpfiDomain::precision = bits;
    result = Enclose<MpfiDomain>(problem, spots, inputs, proved, options, programs, which);
  }
  result.precision = bits;
  return result;
}

}  // namespace planproof::shape_reduction
