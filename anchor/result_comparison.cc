#include "anchor/result_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"
#include "runtime_check/positions.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedRequirement;
using frontend::RecordedResult;
using runtime_check::Values;

// Ranks' terms put together, and what is expected of their rounding.
struct Combined {
  Values values;
  std::vector<double> changes;
};

const std::vector<double>* ChangesOf(const ComputedTensors& computed, sdfg::TensorId tensor) {
  const auto found = computed.find(tensor);
  return found == computed.end() ? nullptr : &found->second.changes;
}

class RequirementCheck {
 public:
  RequirementCheck(const frontend::Recording& recording, const lineage::Problem& problem,
                   const ExpectedResults* expected, RecordedFiles* files)
      : recording_(recording), problem_(problem), expected_(expected), files_(*files) {}

  absl::StatusOr<ResultComparison> Run() {
    std::vector<const RecordedRequirement*> order;
    for (const RecordedRequirement& requirement : recording_.requirements)
      order.push_back(&requirement);
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
      return ResultOf(*a).kind > ResultOf(*b).kind;  // outputs, gradients, new values
    });
    for (const RecordedRequirement* requirement : order) PLAN_RETURN_IF_ERROR(Check(*requirement));
    return std::move(comparison_);
  }

 private:
  const RecordedResult& ResultOf(const RecordedRequirement& requirement) const {
    return recording_.reference.results[requirement.reference];
  }

  absl::StatusOr<Combined> CombinedOf(const RecordedRequirement& requirement) {
    std::optional<Combined> sum;
    for (const RecordedRequirement::Term& term : requirement.terms) {
      const RecordedResult& result = recording_.ranks[term.rank].results[term.result];
      PLAN_ASSIGN_OR_RETURN(const Values own, files_.ranks[term.rank].Result(term.result));
      const std::vector<double>* changes =
          expected_ == nullptr ? nullptr : ChangesOf(expected_->ranks, result.tensor);
      if (!sum) {
        sum.emplace();
        sum->values = Values::Zeros(own.shape, sdfg::DType::kFloat64, sdfg::DType::kFloat64);
        sum->changes.assign(own.size(), 0);
      }
      for (int64_t i = 0; i < own.size(); ++i) {
        sum->values.doubles[i] += own.At(i);
        if (changes != nullptr) sum->changes[i] += (*changes)[i];
      }
    }
    const auto terms = static_cast<double>(requirement.terms.size());
    for (int64_t i = 0; requirement.mean && i < sum->values.size(); ++i) {
      sum->values.doubles[i] /= terms;
      sum->changes[i] /= terms * terms;
    }
    return *std::move(sum);
  }

  absl::StatusOr<const Values*> Reference(int32_t number) {
    const auto known = references_.find(number);
    if (known != references_.end()) return &known->second;
    PLAN_ASSIGN_OR_RETURN(Values values, files_.reference.Result(number));
    return &references_.emplace(number, std::move(values)).first->second;
  }

  // Of what rounding is known nothing: mean squares by element of the reference.
  absl::StatusOr<std::vector<double>> ChangesByType(const RecordedResult& result,
                                                    const Values& values) {
    // RatioBound is 4 at least.
    const double half = std::sqrt(RelativeSpacing(result.dtype)) / 4;
    double step = 0;
    if (result.kind == RecordedResult::Kind::kUpdated) {
      for (size_t k = 0; k < recording_.reference.inputs.size(); ++k) {
        const frontend::RecordedInput& input = recording_.reference.inputs[k];
        if (input.name != result.name) continue;
        PLAN_ASSIGN_OR_RETURN(const Values before, files_.reference.Before(input.view));
        for (int64_t i = 0; i < std::min(before.size(), values.size()); ++i)
          step = std::max(step, std::fabs(values.At(i) - before.At(i)));
      }
    }
    std::vector<double> changes;
    for (int64_t i = 0; i < values.size(); ++i) {
      const double own = half * std::fabs(values.At(i));
      changes.push_back(own * own + 4 * step * step);
    }
    return changes;
  }

  bool IsRecorded(const RecordedRequirement& requirement) const {
    return ResultOf(requirement).has_values &&
           std::all_of(requirement.terms.begin(), requirement.terms.end(), [&](const auto& term) {
             return recording_.ranks[term.rank].results[term.result].has_values;
           });
  }

  absl::Status Check(const RecordedRequirement& requirement) {
    if (!IsRecorded(requirement)) return absl::OkStatus();
    const RecordedResult& result = ResultOf(requirement);
    PLAN_ASSIGN_OR_RETURN(const Values* whole, Reference(requirement.reference));
    PLAN_ASSIGN_OR_RETURN(const Combined combined, CombinedOf(requirement));
    std::vector<double> by_type;
    const std::vector<double>* changes =
        expected_ == nullptr ? nullptr : ChangesOf(expected_->reference, result.tensor);
    if (changes == nullptr) {
      PLAN_ASSIGN_OR_RETURN(by_type, ChangesByType(result, *whole));
      changes = &by_type;
    }
    const Values* before = nullptr;  // and after: the reference's graph from what ranks held
    const Values* after = nullptr;
    if (expected_ != nullptr && expected_->from_ranks.count(result.tensor) != 0) {
      before = &expected_->reference.at(result.tensor).values;
      after = &expected_->from_ranks.at(result.tensor).values;
    }
    const lineage::RequiredRelation& required = problem_.required[requirement.required];
    const sdfg::Shape& shape = problem_.logical.tensors[required.lineage.logical].shape;
    const sdfg::Shape& local = problem_.parallel.tensors[required.parallel].shape;
    if (runtime_check::CountOf(shape) != whole->size() ||
        runtime_check::CountOf(local) != combined.values.size()) {
      return absl::InternalError(absl::StrCat(result.what, ": recorded in another size"));
    }
    // The coarser of the types in which it was recorded.
    sdfg::DType dtype = result.dtype;
    const RecordedRequirement::Term& first = requirement.terms[0];
    const sdfg::DType own = recording_.ranks[first.rank].results[first.result].dtype;
    if (RelativeSpacing(own) > RelativeSpacing(dtype)) dtype = own;
    RoundingMeasure measure(dtype);
    runtime_check::ForEachPosition(required.lineage.map, shape, local, [&](int64_t i, int64_t at) {
      double wanted = whole->At(at);
      if (before != nullptr) wanted += after->At(at) - before->At(at);
      measure.Add(at, combined.values.At(i), wanted, (*changes)[at] + combined.changes[i]);
    });
    ++comparison_.compared;
    if (!measure.differs()) {
      if (measure.error() > comparison_.error && std::isfinite(measure.error()) &&
          !measure.blind()) {
        comparison_.error = measure.error();
        comparison_.most = result.what;
      }
      return absl::OkStatus();
    }
    Report(requirement, shape, measure);
    return absl::OkStatus();
  }

  void Report(const RecordedRequirement& requirement, const sdfg::Shape& shape,
              const RoundingMeasure& measure) {
    const RecordedResult& result = ResultOf(requirement);
    const auto [known, fresh] =
        reported_.try_emplace(requirement.reference, comparison_.differences.size());
    if (!fresh) {
      for (const RecordedRequirement::Term& term : requirement.terms)
        comparison_.differences[known->second].ranks.push_back(term.rank);
      return;
    }
    stages::RecordedDifference& difference = comparison_.differences.emplace_back();
    difference.tensor = result.what;
    for (const RecordedRequirement::Term& term : requirement.terms)
      difference.ranks.push_back(term.rank);
    if (measure.position() >= 0)
      difference.index = runtime_check::IndexAt(shape, measure.position());
    difference.value = NumberText(measure.value(), measure.expected());
    difference.expected = NumberText(measure.expected(), measure.value());
    const bool several = requirement.terms.size() > 1;
    difference.text = absl::StrCat(
        difference.tensor, " at [", absl::StrJoin(difference.index, ", "), "] is recorded as ",
        difference.value,
        several ? (requirement.mean ? ", the mean of ranks " : ", the sum of ranks ") : " on rank ",
        absl::StrJoin(difference.ranks, ", "), several ? "," : "", " and as ", difference.expected,
        " in the reference, a relative difference of ", absl::StrFormat("%.2g", measure.error()),
        " that rounding does not explain");
  }

  const frontend::Recording& recording_;
  const lineage::Problem& problem_;
  const ExpectedResults* expected_;
  RecordedFiles& files_;
  std::map<int32_t, Values> references_;
  ResultComparison comparison_;
  std::map<int32_t, size_t> reported_;  // of the reference's results: their differences
};

}  // namespace

absl::StatusOr<ResultComparison> CompareResults(const frontend::Recording& recording,
                                                const lineage::Problem& problem,
                                                const ExpectedResults* expected,
                                                RecordedFiles* files) {
  return RequirementCheck(recording, problem, expected, files).Run();
}

}  // namespace planproof::anchor
