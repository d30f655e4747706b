#include "stages/decision.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/audit.h"
#include "stages/claim_table.h"
#include "stages/conclusion.h"
#include "stages/describe.h"
#include "stages/elapsed.h"
#include "stages/logical_signs.h"
#include "stages/premises.h"
#include "stages/proof_search.h"
#include "stages/proved_relations.h"
#include "stages/refutation.h"
#include "stages/workers/executor.h"
#include "stages/workers/process_pool.h"
#include "stages/workers/run_journal.h"

namespace planproof::stages {

namespace {

// Up to so many failed claims may be lineages that do not hold in a plan that is right.
constexpr int64_t kFewFailures = 12;
constexpr int64_t kQuickTermBudget = 40'000;

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

class Decision {
 public:
  Decision(const lineage::Problem& form, const RunContext& context, Effort effort, Result known)
      : problem_(form),
        context_(context),
        options_(context.options),
        smt_(options_.engine == Engine::kSmt),
        explain_(effort != Effort::kProofs),
        persist_(effort == Effort::kAll),
        result_(std::move(known)) {
    evidence_.well_formed = context.well_formed;
  }

  Result Run() {
    const auto cut_start = std::chrono::steady_clock::now();
    const Cone cone = ConeOfRequired(problem_);
    AddAssumptions(problem_, cone, &result_);
    ClaimTable table(problem_, cone);
    Relations relations(problem_);
    ProofSearch search(problem_, options_, &table, &relations);
    JournalOfRun journal(options_.journal);
    search.Observe(&journal);
    const std::string missing = InferLogicalSignsInWorker(problem_, search.Limits(), &relations);
    if (!missing.empty() && !search.Interrupted())
      result_.warnings.push_back(absl::StrCat("signs of logical tensors are not known: ", missing));
    result_.time_s.cut = Since(cut_start);
    proved_ = smt_ ? DecideBySmt(problem_, options_, &table, relations, &search, &result_)
                   : search.DecideAll() && search.RequiredProved();
    result_.cache.used = search.memory_use().used;
    result_.cache.hits = search.memory_use().hits;
    result_.cache.misses = search.memory_use().misses;
    result_.cache.solved = search.memory_use().solved;
    result_.worker_only = options_.executor != nullptr && !options_.executor->Leads();
    if (result_.worker_only) return std::move(result_);
    if (!proved_ && !search.Interrupted()) TryFurther(table, &search);
    std::vector<OpenCondition> conditions;
    if (proved_) CheckConditions(table, &relations, &search, &conditions);
    TakeTimes(search);
    CountStages(table, search);
    ListPremises(table, search, conditions, &relations);
    result_.relations = DescribeRequired(problem_);
    result_.outputs.claimed = static_cast<int64_t>(problem_.required.size());
    CountOperators(context_.read, ConeOfRequired(context_.read), proved_, &result_);
    Answer(table, search, conditions);
    if (options_.keep_relations) {
      result_.proved_relations = ProvedRelations(problem_, table, search.ProvedClaims());
    }
    const bool audit = options_.engine == Engine::kAudit;
    if (audit || (!smt_ && !options_.dump_smt_directory.empty() && !Stopped(options_))) {
      Audit(problem_, options_, table, relations, search, &result_);
    }
    double& total = result_.peak_rss_mb.total;
    double& largest = result_.peak_rss_mb.largest;
    total = std::max({total, search.usage().peak_total_mb, PeakResidentMegabytes()});
    largest = std::max({largest, search.usage().peak_largest_mb, PeakResidentMegabytes()});
    return std::move(result_);
  }

 private:
  // A short attempt to see through false lineages, then numbers, then a longer attempt. Claims that
  // were abandoned with their worker are not tried again.
  void TryFurther(const ClaimTable& table, ProofSearch* search) {
    const ClaimOutcomes at_first = search->outcomes();
    const std::vector<ClaimOutcome> first = at_first.Each();
    const auto failed = std::count_if(first.begin(), first.end(), [](const ClaimOutcome& o) {
      return o.status == ClaimStatus::kFailed;
    });
    if (!smt_ && failed > 0 && failed <= kFewFailures)
      proved_ = search->Continue(2, kQuickTermBudget, 2);
    // Where Z3 has no answer, numbers may.
    const bool explain = !proved_ && (failed > 0 || smt_) && explain_ && !Stopped(options_);
    bool undefined_seen = false;
    if (explain) refuted_ = Refute(problem_, options_, table, first, &result_, &undefined_seen);
    if (Stopped(options_)) return;
    if (!persist_) return;
    if (!smt_ && explain && !refuted_ && failed <= kFewFailures)
      proved_ = search->OpenDifferences(at_first, SecondsLeft());
    if (!smt_ && explain && !refuted_ && !proved_ && !Stopped(options_))
      proved_ = search->Continue(16, ClaimLimits{}.term_budget, SecondsLeft());
    // What Z3 leaves open may be right wherever the plan has a value.
    if (undefined_seen && !smt_ && !proved_ && !refuted_ && !search->Interrupted()) {
      refuted_ = RefuteUndefined(problem_, options_, table, search->outcomes().Each(),
                                 search->ProvedClaims(), &result_);
    }
  }

  // The values are equal wherever the plan has one. Whether it has one wherever the model does:
  // otherwise it is no substitute.
  void CheckConditions(const ClaimTable& table, Relations* relations, ProofSearch* search,
                       std::vector<OpenCondition>* open) {
    *open = ConditionsOfPlan(problem_, /*discharge=*/!smt_, search, relations);
    if (Stopped(options_)) {  // not everything was looked at, perhaps
      proved_ = false;
      return;
    }
    evidence_.conditions = *open;
    if (Acceptable(*open, options_.accept_restrictions)) return;
    proved_ = false;
    refuted_ = explain_ && !search->Interrupted() &&
               RefuteUndefined(problem_, options_, table, search->outcomes().Each(),
                               search->ProvedClaims(), &result_);
  }

  void TakeTimes(const ProofSearch& search) {
    result_.time_s.cut += search.key_seconds();
    result_.time_s.evaluate = search.evaluate_seconds();
    result_.time_s.decide = search.decide_seconds() - search.evaluate_seconds();
    result_.time_s.workers += search.usage().processes_s;
  }

  void CountStages(const ClaimTable& table, const ProofSearch& search) {
    result_.stages.total = static_cast<int64_t>(table.claims().size());
    result_.stages.classes = search.classes();
    std::map<ProofMethod, int64_t> methods;
    std::set<int32_t> counted;
    const std::vector<bool> proved = search.ProvedClaims();
    for (size_t c = 0; c < search.outcomes().size(); ++c) {
      const Claim& claim = table.claims()[c];
      const bool inferred = claim.target.provenance == lineage::Provenance::kInferred;
      if (inferred && claim.required < 0 && proved[c]) ++result_.inference.proved;
      const ClaimOutcome& o = search.outcomes()[c];
      const bool defined = o.restrictions.empty() || options_.accept_restrictions;
      if (o.status == ClaimStatus::kProved && defined) {
        ++result_.stages.proved;
        if (counted.insert(table.claims()[c].class_id).second) ++methods[o.method];
      } else if (refuted_) {
        ++result_.stages.refuted;
      } else {
        ++result_.stages.unknown;
      }
    }
    std::map<std::string, int64_t> tiers;
    for (const auto& [method, count] : methods) tiers[ProofMethodName(method)] += count;
    result_.tiers.assign(tiers.begin(), tiers.end());
  }

  void ListPremises(const ClaimTable& table, const ProofSearch& search,
                    const std::vector<OpenCondition>& conditions, Relations* relations) {
    std::set<std::string> premises, restrictions;
    for (size_t c = 0; c < search.outcomes().size(); ++c) {
      const ClaimOutcome& o = search.outcomes()[c];
      if (o.status != ClaimStatus::kProved) continue;  // its premises are premises of nothing
      for (const Condition& condition : o.premises) premises.insert(InWords(condition));
    }
    for (const OpenCondition& open : conditions) {
      restrictions.insert(
          absl::StrCat(open.op == sdfg::kNone ? "" : "in the plan, ", InWords(open.condition)));
    }
    if (proved_) {
      evidence_.implied =
          CollectImplied(problem_, table, search.outcomes(), search.Limits(), relations);
      const ImpliedPremises& implied = *evidence_.implied;
      premises.insert(implied.texts.begin(), implied.texts.end());
      if (!implied.complete) result_.warnings.push_back(implied.why);
      if (implied.unsatisfiable) {
        Violation v;
        v.kind = "premises that never hold";
        v.message =
            "the specification is defined nowhere: some operator is undefined for all inputs";
        result_.violations.push_back(std::move(v));
        proved_ = false;
      }
    }
    for (std::string& p : DeclaredPremises(problem_)) premises.insert(std::move(p));
    result_.premises.assign(premises.begin(), premises.end());
    result_.restrictions.assign(restrictions.begin(), restrictions.end());
  }

  void Answer(const ClaimTable& table, const ProofSearch& search,
              const std::vector<OpenCondition>& conditions) {
    evidence_.required_proved = proved_ && search.RequiredProved();
    evidence_.restrictions_accepted = options_.accept_restrictions;
    evidence_.refuted = refuted_;
    result_.verdict = Conclude(problem_, search.outcomes(), evidence_,
                               [&] { return HasFiniteSample(problem_, options_, &result_); });
    if (proved_ || refuted_) return;
    if (Stopped(options_)) ListInterrupted(table, search, !options_.stores.empty(), &result_);
    ListRestricted(problem_, table, conditions, &result_);
    if (conditions.empty()) ListUndecided(problem_, options_, table, search, &result_);
  }

  // For a further attempt.
  double SecondsLeft() const {
    const double all = context_.share_of_attempts * options_.stage_timeout_s;
    return std::max(1.0, all - Since(context_.start));
  }

  const lineage::Problem& problem_;
  const RunContext& context_;
  const VerifyOptions& options_;
  const bool smt_, explain_, persist_;
  Result result_;
  bool proved_ = false, refuted_ = false;
  Evidence evidence_;
};

}  // namespace

bool Stopped(const VerifyOptions& options) {
  return options.stop != nullptr && options.stop->requested;
}

Result Decide(const lineage::Problem& form, const RunContext& context, Effort effort,
              Result known) {
  return Decision(form, context, effort, std::move(known)).Run();
}

}  // namespace planproof::stages
