#include "stages/conclusion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "lineage/assumptions.h"

namespace planproof::stages {

using sdfg::TensorId;

bool DeclaredHoldTogether(const lineage::Problem& problem) {
  using Kind = lineage::Problem::InputPremise::Kind;
  std::map<TensorId, std::pair<int64_t, int64_t>> ranges;
  for (const auto& p : problem.premises) {
    const sdfg::TensorRole role = problem.logical.tensors[p.tensor].role;
    if (role == sdfg::TensorRole::kOne || role == sdfg::TensorRole::kZero) return false;
    const bool integer = sdfg::IsInteger(problem.logical.tensors[p.tensor].dtype);
    const bool sign =
        p.kind == Kind::kPositive || p.kind == Kind::kNonNegative || p.kind == Kind::kNonZero;
    if (sign && !integer) continue;  // 1 meets all of them
    if (p.kind != Kind::kIntegerRange || !integer) return false;
    auto [at, fresh] = ranges.try_emplace(p.tensor, p.low, p.high);
    at->second = {std::max(at->second.first, p.low), std::min(at->second.second, p.high)};
    // An id that is not negative, as operators ask, must be left.
    if (at->second.first >= at->second.second || at->second.second <= 0) return false;
  }
  return true;
}

namespace {

// Premises might contradict each other: then everything would follow from them.
bool NeedsSample(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                 const Evidence& evidence) {
  if (!evidence.conditions->empty() || !DeclaredHoldTogether(problem)) return true;
  // What could not be listed might clash with the rest.
  if (evidence.implied->need_sample || !evidence.implied->complete) return true;
  for (size_t c = 0; c < outcomes.size(); ++c) {
    const ClaimOutcome& o = outcomes[c];
    if (o.status == ClaimStatus::kProved && !o.premises.empty()) return true;
  }
  return false;
}

}  // namespace

bool Evidence::ConditionsAcceptable() const {
  if (!conditions.has_value()) return false;
  return std::all_of(conditions->begin(), conditions->end(), [&](const OpenCondition& open) {
    return restrictions_accepted && !open.condition.never;
  });
}

Verdict Conclude(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                 const Evidence& evidence, const std::function<bool()>& has_sample) {
  if (evidence.refuted) return Verdict::kRefuted;
  if (!evidence.well_formed || problem.required.empty()) return Verdict::kUnknown;
  if (!evidence.required_proved) return Verdict::kUnknown;
  if (!evidence.ConditionsAcceptable()) return Verdict::kUnknown;
  if (!evidence.implied.has_value() || evidence.implied->unsatisfiable) return Verdict::kUnknown;
  const bool needs_sample = NeedsSample(problem, outcomes, evidence);
  if (lineage::AssumesRelations(problem) && !evidence.assumptions_listed) return Verdict::kUnknown;
  if (needs_sample && !has_sample()) return Verdict::kUnknown;
  return Verdict::kProved;
}

}  // namespace planproof::stages
