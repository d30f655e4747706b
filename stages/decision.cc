#include "stages/decision.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/account_of_search.h"
#include "stages/audit.h"
#include "stages/claim_table.h"
#include "stages/conclusion.h"
#include "stages/describe.h"
#include "stages/elapsed.h"
#include "stages/finite_sample.h"
#include "stages/further_attempts.h"
#include "stages/logical_signs.h"
#include "stages/plan_conditions.h"
#include "stages/premise_list.h"
#include "stages/premises.h"
#include "stages/proof_search.h"
#include "stages/proved_relations.h"
#include "stages/refutation.h"
#include "stages/run_counts.h"
#include "stages/smt/engine.h"
#include "stages/workers/executor.h"
#include "stages/workers/process_pool.h"
#include "stages/workers/run_journal.h"

namespace planproof::stages {

Result Decide(const lineage::Problem& form, const RunContext& context, Effort effort,
              Result known) {
  const VerifyOptions& options = context.options;
  const bool smt = options.engine == Engine::kSmt;
  Result result = std::move(known);
  const auto cut_start = std::chrono::steady_clock::now();
  ClaimTable table(form, ConeOfRequired(form));
  Relations relations(form);
  ProofSearch search(form, options, &table, &relations);
  JournalOfRun journal(options.journal);
  search.Observe(&journal);
  const std::string missing = InferLogicalSignsInWorker(form, search.Limits(), &relations);
  if (!missing.empty() && !search.Interrupted())
    result.warnings.push_back(absl::StrCat("signs of logical tensors are not known: ", missing));
  result.time_s.cut = Since(cut_start);
  Attempts found;
  found.proved = smt ? DecideBySmt(form, options, &table, relations, &search, &result)
                     : search.DecideAll() && search.RequiredProved();
  result.cache = search.memory_use();
  result.worker_only = options.executor != nullptr && !options.executor->Leads();
  if (result.worker_only) return result;
  if (!found.proved && !search.Interrupted())
    found = TryFurther(form, context, effort, table, &search, &result);
  Evidence evidence{.well_formed = context.well_formed,
                    .restrictions_accepted = options.accept_restrictions,
                    .assumptions_listed = !result.assumed.empty()};
  // The values are equal wherever the plan has one. Whether it has one wherever the model does:
  // otherwise it is no substitute.
  std::vector<OpenCondition> conditions;
  if (found.proved) {
    conditions = ConditionsOfPlan(
        form, {.discharge = !smt, .behind_assumptions = context.behind_assumptions}, &search,
        &relations);
    if (!Stopped(options)) evidence.conditions = conditions;  // all of them were looked at
    if (!evidence.ConditionsAcceptable()) {
      found.proved = false;
      found.undefined = effort > Effort::kProofs && !search.Interrupted();
    }
  }
  // What is left open may be right wherever the plan has a value.
  if (found.undefined) {
    found.refuted = RefuteUndefined(form, options, table, search.outcomes().Each(),
                                    search.ProvedClaims(), &result);
  }
  if (found.proved) {
    evidence.implied = CollectImplied(form, table, search.outcomes(), search.Limits(), &relations);
    found.proved = !evidence.implied->unsatisfiable;
  }
  ListPremises(form, search.outcomes(), conditions, evidence.implied, &result);
  evidence.required_proved = found.proved && search.RequiredProved();
  evidence.refuted = found.refuted;
  result.verdict = Conclude(form, search.outcomes(), evidence,
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
    result.account = AccountOf(form, table, search, shown, result.verdict == Verdict::kProved);
  }
  result.relations = DescribeRequired(form);
  if (!found.proved && !found.refuted) {
    if (Stopped(options)) ListInterrupted(options, table, search, !options.stores.empty(), &result);
    ListRestricted(form, table, conditions, &result);
    if (conditions.empty()) ListUndecided(form, options, table, search, &result);
  }
  const bool audit = options.engine == Engine::kAudit;
  if (audit || (!smt && !options.dump_smt_directory.empty() && !Stopped(options))) {
    Audit(form, options, table, relations, search, &result);
  }
  const PoolUsage& usage = search.usage();
  auto& [total, largest] = result.peak_rss_mb;
  total = std::max({total, usage.peak_total_mb, PeakResidentMegabytes()});
  largest = std::max({largest, usage.peak_largest_mb, PeakResidentMegabytes()});
  return result;
}

}  // namespace planproof::stages
