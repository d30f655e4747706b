#include "stages/verify.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "stages/audit.h"
#include "stages/claim_table.h"
#include "stages/describe.h"
#include "stages/executor.h"
#include "stages/expected_schedule.h"
#include "stages/logical_signs.h"
#include "stages/premises.h"
#include "stages/refutation.h"
#include "stages/rounds.h"
#include "stages/schedule_check.h"
#include "stages/static_checks.h"

namespace planproof::stages {

namespace {

// Up to so many failed claims may be lineages that do not hold in a plan that is right.
constexpr int64_t kFewFailures = 12;
constexpr int64_t kQuickTermBudget = 40'000;

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void CountOperators(const lineage::Problem& problem, const Cone& cone, bool proved,
                    Result* result) {
  for (const sdfg::Operator& op : problem.logical.operators) {
    result->operators.logical += problem.logical.InstanceCount(op);
  }
  const sdfg::Graph& g = problem.parallel;
  for (size_t i = 0; i < g.operators.size(); ++i) {
    const int64_t n = g.InstanceCount(g.operators[i]);
    result->operators.parallel += n;
    if (!cone.operators[i]) {
      result->without_effect.push_back(
          absl::StrCat(g.Describe(static_cast<int>(i)), " (", n, " instances)"));
    } else if (proved) {
      result->operators.covered += n;
    }
  }
}

// What the operators of both graphs assume, as far as required outputs depend on it.
void AddAssumptions(const lineage::Problem& problem, const Cone& cone, Result* result) {
  std::set<std::string> texts;
  for (const sdfg::Operator& op : problem.logical.operators)
    texts.insert(op.function->assumptions.begin(), op.function->assumptions.end());
  for (size_t i = 0; i < problem.parallel.operators.size(); ++i) {
    const auto& own = problem.parallel.operators[i].function->assumptions;
    if (cone.operators[i]) texts.insert(own.begin(), own.end());
  }
  for (const std::string& text : result->assumptions) texts.erase(text);
  result->assumptions.insert(result->assumptions.end(), texts.begin(), texts.end());
}

// Checks that need no values: where tensors are, and in which order they are made.
std::vector<Violation> StaticViolations(const lineage::Problem& problem,
                                        const VerifyOptions& options) {
  constexpr size_t kMost = 20;
  std::vector<Violation> found = CheckResidence(problem.parallel, kMost);
  if (found.empty()) found = CheckSchedule(problem, kMost);
  if (!found.empty() || options.expect_schedule == PipelineSchedule::kAny) return found;
  if (auto deviation = CheckExpectedSchedule(problem, options.expect_schedule)) {
    found.push_back(*std::move(deviation));
  }
  return found;
}

}  // namespace

Result Verify(const lineage::Problem& problem, const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Result result;
  result.engine = options.engine == Engine::kHybrid ? "hybrid"
                  : options.engine == Engine::kSmt  ? "smt"
                                                    : "audit";
  result.assumptions = problem.assumptions;
  result.warnings = problem.warnings;
  result.outputs.required = static_cast<int64_t>(problem.required.size());
  if (absl::Status s = CheckProblem(problem); !s.ok()) {
    Violation v;
    v.verdict = Verdict::kMalformed;
    v.kind = "malformed plan";
    v.message = std::string(s.message());
    result.verdict = Verdict::kMalformed;
    result.violations.push_back(std::move(v));
    result.time_s.check = result.time_s.total = Since(start);
    return result;
  }
  if (auto wrong = StaticViolations(problem, options); !wrong.empty()) {
    result.verdict = wrong[0].verdict;
    result.violations = std::move(wrong);
    result.time_s.check = result.time_s.total = Since(start);
    return result;
  }
  if (problem.required.empty()) {
    Violation v;
    v.verdict = Verdict::kUnknown;
    v.kind = "nothing required";
    v.message = "the specification requires no output; there is nothing to prove";
    result.violations.push_back(std::move(v));
    result.verdict = Verdict::kUnknown;
    return result;
  }
  result.time_s.check = Since(start);

  const auto cut_start = std::chrono::steady_clock::now();
  const Cone cone = ConeOfRequired(problem);
  AddAssumptions(problem, cone, &result);
  ClaimTable table(problem, cone);
  Relations relations(problem);
  InferLogicalSigns(problem, &relations);
  result.time_s.cut = Since(cut_start);

  Rounds rounds(problem, options, &table, &relations);
  const bool smt = options.engine == Engine::kSmt;
  bool proved = smt ? DecideBySmt(problem, options, &table, relations, &rounds, &result)
                    : rounds.First() && rounds.RequiredProved();
  result.cache.used = rounds.memory_use().used;
  result.cache.hits = rounds.memory_use().hits;
  result.cache.misses = rounds.memory_use().misses;
  result.cache.solved = rounds.memory_use().solved;
  result.served = options.executor != nullptr && !options.executor->Leads();
  if (result.served) return result;
  bool refuted = false;
  if (!proved && !rounds.Interrupted()) {
    const ClaimOutcomes at_first = rounds.outcomes();
    const std::vector<ClaimOutcome> first = at_first.Each();
    // A short attempt to see through false lineages, then numbers, then a longer attempt. Claims
    // that were abandoned with their worker are not tried again.
    const auto failed = std::count_if(first.begin(), first.end(), [](const ClaimOutcome& o) {
      return o.status == ClaimStatus::kFailed;
    });
    if (!smt && failed > 0 && failed <= kFewFailures)
      proved = rounds.Continue(2, kQuickTermBudget, 2);
    // Where Z3 has no answer, numbers may.
    const bool explain = !proved && (failed > 0 || smt) && options.explain;
    bool undefined_seen = false;
    if (explain) refuted = Refute(problem, options, table, first, &result, &undefined_seen);
    if (!smt && explain && !refuted && failed <= kFewFailures)
      proved = rounds.OpenDifferences(at_first, options.stage_timeout_s);
    if (!smt && explain && !refuted && !proved)
      proved = rounds.Continue(16, ClaimLimits{}.term_budget, options.stage_timeout_s);
    // What Z3 leaves open may be right wherever the plan has a value.
    if (undefined_seen && !smt && !proved && !refuted && !rounds.Interrupted()) {
      refuted = RefuteUndefined(problem, options, table, rounds.outcomes().Each(), rounds.Shown(),
                                &result);
    }
  }
  result.time_s.cut += rounds.key_seconds();
  result.time_s.evaluate = rounds.evaluate_seconds();
  result.time_s.decide = rounds.decide_seconds() - rounds.evaluate_seconds();
  result.time_s.workers = rounds.usage().processes_s;

  result.stages.total = static_cast<int64_t>(table.claims().size());
  result.stages.classes = rounds.classes();
  std::map<std::string, int64_t> tiers;
  std::set<std::string> premises, restrictions;
  std::set<int32_t> counted;
  for (size_t c = 0; c < rounds.outcomes().size(); ++c) {
    const ClaimOutcome& o = rounds.outcomes()[c];
    if (o.status == ClaimStatus::kProved) {
      ++result.stages.proved;
      if (counted.insert(table.claims()[c].klass).second) ++tiers[o.tier];
    } else if (refuted) {
      ++result.stages.refuted;
    } else {
      ++result.stages.unknown;
    }
    if (o.status != ClaimStatus::kProved) continue;  // its premises are premises of nothing
    premises.insert(o.premises.begin(), o.premises.end());
    restrictions.insert(o.restrictions.begin(), o.restrictions.end());
  }
  bool need_sample = !premises.empty() || !restrictions.empty() || !DeclaredHoldTogether(problem);
  if (proved) {
    ImpliedPremises implied = CollectImplied(problem, table, rounds.outcomes(), &relations);
    premises.insert(implied.texts.begin(), implied.texts.end());
    const std::vector<std::string> conditions = CollectRestrictions(problem);
    restrictions.insert(conditions.begin(), conditions.end());
    need_sample |= implied.need_sample || !conditions.empty();
    if (!implied.complete) result.warnings.push_back(implied.why);
    if (implied.unsatisfiable) {
      Violation v;
      v.kind = "premises that never hold";
      v.message = "the specification is defined nowhere: some operator is undefined for all inputs";
      result.violations.push_back(std::move(v));
      proved = false;
    }
  }
  for (const std::string& p : premises) restrictions.erase(p);
  for (std::string& p : DeclaredPremises(problem)) premises.insert(std::move(p));
  result.premises.assign(premises.begin(), premises.end());
  result.restrictions.assign(restrictions.begin(), restrictions.end());
  result.tiers.assign(tiers.begin(), tiers.end());
  result.relations = DescribeRequired(problem);
  result.outputs.claimed = static_cast<int64_t>(problem.required.size());
  CountOperators(problem, cone, proved, &result);

  if (proved && !refuted) {
    result.verdict = Verdict::kProved;
    if (need_sample && !HasFiniteSample(problem, &result)) {
      result.verdict = Verdict::kUnknown;
    }
  } else if (refuted) {
    result.verdict = Verdict::kRefuted;
  } else {
    result.verdict = Verdict::kUnknown;
    if (rounds.Interrupted()) ListInterrupted(!options.stores.empty(), &result);
    ListUndecided(problem, table, rounds, &result);
  }
  if (options.engine == Engine::kAudit || (!smt && !options.dump_smt_directory.empty())) {
    Audit(problem, options, table, relations, rounds, &result);
  }
  result.peak_rss_mb.total = std::max(rounds.usage().peak_total_mb, PeakResidentMegabytes());
  result.peak_rss_mb.largest = std::max(rounds.usage().peak_largest_mb, PeakResidentMegabytes());
  result.time_s.total = Since(start);
  return result;
}

}  // namespace planproof::stages
