#include "strategy/decision.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnosis/describe.h"
#include "smt/audit.h"
#include "smt/engine.h"
#include "stages/claim_table.h"
#include "stages/conclusion.h"
#include "stages/elapsed.h"
#include "stages/logical_signs.h"
#include "stages/plan_conditions.h"
#include "stages/premises.h"
#include "stages/proof_search.h"
#include "stages/workers/executor.h"
#include "stages/workers/process_pool.h"
#include "strategy/account_of_search.h"
#include "strategy/finite_sample.h"
#include "strategy/further_attempts.h"
#include "strategy/premise_list.h"
#include "strategy/proved_relations.h"
#include "strategy/refutation.h"
#include "strategy/run_counts.h"
#include "strategy/run_journal.h"

namespace planproof::strategy {

stages::Result Decide(const lineage::Problem& form, const RunContext& context, Method method,
                      stages::Result known) {
  const stages::VerifyOptions& options = context.options;
  const bool smt = options.engine == stages::Engine::kSmt;
  stages::Result result = std::move(known);
  const auto cut_start = std::chrono::steady_clock::now();
  stages::ClaimTable table(form, stages::ConeOfRequired(form));
  stages::Relations relations(form);
  stages::ProofSearch search(form, options, &table, &relations);
  JournalOfRun journal(options.journal);
  search.Observe(&journal);
  const std::string missing = stages::InferLogicalSignsInWorker(form, search.Limits(), &relations);
  if (!missing.empty() && !search.Interrupted())
    result.warnings.push_back(absl::StrCat("signs of logical tensors are not known: ", missing));
  result.time_s.cut = stages::Since(cut_start);
  Attempts found;
  found.proved = smt ? smt::DecideBySmt(form, options, &table, relations, &search, &result)
                     : search.DecideAll() && search.RequiredProved();
  result.cache = search.memory_use();
  result.worker_only = options.executor != nullptr && !options.executor->Leads();
  if (result.worker_only) return result;
  if (!found.proved && !search.Interrupted())
    found = TryFurther(form, context, method, table, &search, &result);
  stages::Evidence evidence{.well_formed = context.well_formed,
                            .restrictions_accepted = options.accept_restrictions,
                            .assumptions_listed = !result.assumed.empty()};
  // The values are equal wherever the plan has one. Whether it has one wherever the model does:
  // otherwise it is no substitute.
  std::vector<stages::OpenCondition> conditions;
  if (found.proved) {
    conditions = stages::ConditionsOfPlan(
        form, {.discharge = !smt, .behind_assumptions = context.behind_assumptions}, &search,
        &relations);
    if (!Stopped(options)) evidence.conditions = conditions;  // all of them were looked at
    if (!evidence.ConditionsAcceptable()) {
      found.proved = false;
      found.undefined = method > Method::kProve && !search.Interrupted();
    }
  }
  // What is left open may be right wherever the plan has a value.
  if (found.undefined) {
    found.refuted = RefuteUndefined(form, options, table, search.outcomes().Each(),
                                    search.ProvedClaims(), &result);
  }
  if (found.proved) {
    evidence.implied =
        stages::CollectImplied(form, table, search.outcomes(), search.Limits(), &relations);
    found.proved = !evidence.implied->unsatisfiable;
  }
  ListPremises(form, search.outcomes(), conditions, evidence.implied, &result);
  evidence.required_proved = found.proved && search.RequiredProved();
  evidence.refuted = found.refuted;
  result.verdict = stages::Conclude(form, search.outcomes(), evidence,
                                    [&] { return HasFiniteSample(form, options, &result); });
  const std::vector<bool> shown = search.ProvedClaims();
  for (size_t r = 0; r < form.required.size(); ++r) {
    result.required_shown.push_back(shown[table.ClaimOfRequired(static_cast<int64_t>(r))]);
  }
  TakeCounts(context, table, search, shown, found, &result);
  result.outputs.claimed = static_cast<int64_t>(form.required.size());
  if (options.keep_relations) {
    result.proved_relations = ProvedRelations(form, table, shown);
  }
  if (options.keep_account) {
    result.account =
        AccountOf(form, table, search, shown, result.verdict == stages::Verdict::kProved);
  }
  result.relations = diagnosis::DescribeRequired(form);
  if (!found.proved && !found.refuted) {
    if (Stopped(options))
      diagnosis::ListInterrupted(options, table, search, !options.stores.empty(), &result);
    diagnosis::ListRestricted(form, table, conditions, &result);
    if (conditions.empty()) diagnosis::ListUndecided(form, options, table, search, &result);
  }
  const bool audit = options.engine == stages::Engine::kAudit;
  if (audit || (!smt && !options.dump_smt_directory.empty() && !Stopped(options))) {
    smt::Audit(form, options, table, relations, search, &result);
  }
  const stages::PoolUsage& usage = search.usage();
  auto& [total, largest] = result.peak_rss_mb;
  total = std::max({total, usage.peak_total_mb, stages::PeakResidentMegabytes()});
  largest = std::max({largest, usage.peak_largest_mb, stages::PeakResidentMegabytes()});
  return result;
}

}  // namespace planproof::strategy
