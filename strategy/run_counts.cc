#include "strategy/run_counts.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace planproof::strategy {

namespace {

void CountStages(const stages::ClaimTable& table, const stages::ProofSearch& search,
                 const std::vector<bool>& shown, const stages::VerifyOptions& options, bool refuted,
                 stages::Result* result) {
  result->stages.total = static_cast<int64_t>(table.claims().size());
  result->stages.classes = search.classes();
  std::map<stages::ProofMethod, int64_t> methods;
  std::set<int32_t> counted;
  for (size_t c = 0; c < search.outcomes().size(); ++c) {
    const stages::Claim& claim = table.claims()[c];
    const bool inferred = claim.target.provenance == lineage::Provenance::kInferred;
    if (inferred && claim.required < 0 && shown[c]) ++result->inference.proved;
    const stages::ClaimOutcome& o = search.outcomes()[c];
    const bool defined = o.restrictions.empty() || options.accept_restrictions;
    if (o.status == stages::ClaimStatus::kProved && defined) {
      ++result->stages.proved;
      if (counted.insert(table.claims()[c].class_id).second) ++methods[o.method];
    } else if (refuted) {
      ++result->stages.refuted;
    } else {
      ++result->stages.unknown;
      if (o.limit == stages::Limit::kWork) ++result->stages.limited;
      if (o.limit == stages::Limit::kTime) ++result->stages.late;
      if (o.limit == stages::Limit::kMemory) ++result->stages.oversized;
    }
  }
  std::map<std::string, int64_t> tiers;
  for (const auto& [method, count] : methods) tiers[stages::ProofMethodName(method)] += count;
  result->tiers.assign(tiers.begin(), tiers.end());
}

}  // namespace

void TakeCounts(const RunContext& context, const stages::ClaimTable& table,
                const stages::ProofSearch& search, const std::vector<bool>& shown,
                const Attempts& found, stages::Result* result) {
  CountStages(table, search, shown, context.options, found.refuted, result);
  const stages::OperatorCounts& operators = context.operators;
  result->operators.logical = operators.logical;
  result->operators.parallel = operators.parallel;
  result->operators.covered = found.proved ? operators.in_cone : 0;
  result->without_effect = operators.without_effect;
  result->time_s.cut += search.key_seconds();
  result->time_s.evaluate = search.evaluate_seconds();
  result->time_s.decide = search.decide_seconds() - search.evaluate_seconds();
  result->time_s.workers += search.usage().processes_s;
}

}  // namespace planproof::strategy
