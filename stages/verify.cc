#include "stages/verify.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "stages/audit.h"
#include "stages/claim_table.h"
#include "stages/conclusion.h"
#include "stages/describe.h"
#include "stages/elapsed.h"
#include "stages/lineage_inference.h"
#include "stages/logical_signs.h"
#include "stages/premises.h"
#include "stages/proof_search.h"
#include "stages/proved_relations.h"
#include "stages/refutation.h"
#include "stages/schedule/expected_schedule.h"
#include "stages/schedule/schedule_check.h"
#include "stages/static_checks.h"
#include "stages/unstated_lineage.h"
#include "stages/workers/executor.h"
#include "stages/workers/process_pool.h"
#include "stages/workers/run_journal.h"

namespace planproof::stages {

namespace {

// Up to so many failed claims may be lineages that do not hold in a plan that is right.
constexpr int64_t kFewFailures = 12;
// Further attempts end when so much of the time that one claim may take has gone since the start of
// the run; those on the folded form earlier.
constexpr double kShareOfAttempts = 0.75;
constexpr double kShareOfFoldedAttempts = 0.4;
constexpr double kSecondsOfInference = 20;
constexpr int64_t kQuickTermBudget = 40'000;
// So many ranks spelled out make terms that many times as large.
constexpr int64_t kManyRanks = 8;

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
  constexpr size_t kMax = 20;
  std::vector<Violation> found = CheckResidence(problem.parallel, kMax);
  if (found.empty()) found = CheckSchedule(problem, kMax);
  if (!found.empty() || options.expect_schedule == PipelineSchedule::kAny) return found;
  if (auto deviation = CheckExpectedSchedule(problem, options.expect_schedule)) {
    found.push_back(*std::move(deviation));
  }
  return found;
}

// The steps of a run, in order.
class Verification {
 public:
  Verification(const lineage::Problem& problem, const VerifyOptions& options)
      : problem_(problem), options_(options), smt_(options.engine == Engine::kSmt) {}

  Result Run() {
    const StopWatch watch(options_.stop);
    result_.engine = options_.engine == Engine::kHybrid ? "hybrid"
                     : options_.engine == Engine::kSmt  ? "smt"
                                                        : "audit";
    result_.assumptions = problem_.assumptions;
    result_.warnings = problem_.warnings;
    result_.outputs.required = static_cast<int64_t>(problem_.required.size());
    if (Check()) {
      const std::optional<lineage::Problem> folded = Folded();
      if (folded.has_value()) {
        DecideFolded(*folded);
      } else {
        DecideCompleted();
      }
    }
    result_.time_s.total = Since(start_);
    return std::move(result_);
  }

 private:
  // Whether the plan is one; otherwise the verdict is known.
  bool Check() {
    if (absl::Status s = CheckProblem(problem_); !s.ok()) {
      Violation v;
      const bool limit = absl::IsResourceExhausted(s);  // of ours: the plan may be right
      v.verdict = limit ? Verdict::kUnknown : Verdict::kMalformed;
      v.kind = limit ? "a limit was reached" : "malformed plan";
      v.message = v.cause = std::string(s.message());
      result_.violations.push_back(std::move(v));
    } else {
      result_.violations = StaticViolations(problem_, options_);
      evidence_.well_formed = result_.violations.empty();
    }
    if (result_.violations.empty()) {
      const MemoryRemarks remarks = RemarksOnMemory(problem_);
      for (const std::string& text : remarks.assumptions) result_.assumptions.push_back(text);
      for (const std::string& text : remarks.warnings) result_.warnings.push_back(text);
    }
    if (result_.violations.empty() && Stopped()) {
      Violation v;
      v.kind = "interrupted";
      v.message = v.cause = "interrupted before any class was decided";
      result_.violations.push_back(std::move(v));
    }
    if (result_.violations.empty() && problem_.required.empty()) {
      Violation v;
      v.verdict = Verdict::kUnknown;
      v.kind = "nothing required";
      v.message = "the specification requires no output; there is nothing to prove";
      result_.violations.push_back(std::move(v));
    }
    if (!result_.violations.empty()) result_.verdict = result_.violations[0].verdict;
    result_.time_s.check = Since(start_);
    return result_.violations.empty();
  }

  // The problem with ranks folded, if there are ranks to fold.
  std::optional<lineage::Problem> Folded() {
    if (!options_.fold_ranks || options_.engine != Engine::kHybrid ||
        options_.executor != nullptr || !options_.dump_smt_directory.empty()) {
      return std::nullopt;
    }
    absl::StatusOr<std::optional<lineage::Problem>> folded =
        lineage::folding::FoldChecked(problem_);
    if (!folded.ok()) {
      result_.warnings.push_back(
          absl::StrCat("ranks are not folded: ", std::string(folded.status().message())));
      return std::nullopt;
    }
    if (folded->has_value() && !CheckProblem(**folded).ok()) return std::nullopt;
    result_.time_s.check = Since(start_);
    return *std::move(folded);
  }

  // Folding is to save work, never to lose an answer: what it does not prove is decided as it was
  // read, and explained in the file's own operators. Only where that would be many times the work
  // is a counterexample looked for in the folded form.
  void DecideFolded(const lineage::Problem& folded) {
    const Result checked = result_;
    VerifyOptions options = options_;
    options.explain = options_.explain && RanksFolded(folded) >= kManyRanks;
    Verification inner(folded, options);
    inner.read_ = &problem_;
    inner.start_ = start_;
    inner.share_of_attempts_ = kShareOfFoldedAttempts;
    inner.evidence_.well_formed = evidence_.well_formed;  // and CheckProblem has seen `folded`
    inner.result_ = std::move(result_);
    inner.result_.outputs.required = static_cast<int64_t>(folded.required.size());
    inner.DecideCompleted();
    result_ = std::move(inner.result_);
    if (result_.verdict != Verdict::kUnknown || Stopped()) return;
    result_ = checked;
    DecideCompleted();
  }

  // Decides the problem with relations that are inferred where the files state few.
  void DecideCompleted() {
    // Processes that share the work must decide the same, whatever time they take.
    if (options_.inference == nullptr || options_.executor != nullptr || smt_ ||
        !LineageIsMissing(problem_)) {
      Decide();
      return;
    }
    if (!InferenceEnds(*options_.inference)) {
      if (!Stopped()) {
        result_.warnings.push_back("relations are not inferred: it takes too much time or memory");
      }
      Decide();
      return;
    }
    const Result checked = result_;
    std::optional<lineage::Problem> to_explain;
    for (const LineageInference* inference = options_.inference; inference != nullptr;
         inference = inference->Otherwise()) {
      result_ = checked;
      DecideWith(*inference, &to_explain);
      if (result_.verdict != Verdict::kUnknown || Stopped()) return;
    }
    if (!options_.explain) return;
    // A short plan is explained as it is.
    const Result undecided = std::move(result_);
    result_ = checked;
    result_.inference = undecided.inference;
    result_.time_s.infer = undecided.time_s.infer;
    const bool short_plan = IsShort(problem_);
    DecideForm(short_plan ? problem_ : *to_explain, options_);
    if (result_.verdict != Verdict::kUnknown || short_plan) return;
    std::vector<std::string> warnings = std::move(result_.warnings);
    result_ = undecided;
    result_.warnings = std::move(warnings);
  }

  // Terms of a wrong plan may grow beyond any time: a process of its own finds out.
  bool InferenceEnds(const LineageInference& inference) const {
    WorkerLimits limits;
    limits.task_timeout_s = std::min(kSecondsOfInference, options_.stage_timeout_s);
    limits.memory_limit_mb = options_.memory_limit_mb;
    limits.stop = options_.stop;
    bool ends = false;
    RunInWorkers(
        1, limits,
        [&](int) {
          inference.Complete(problem_, options_.stop);
          return std::string();
        },
        [&](int, TaskOutcome outcome) { ends = outcome.status == TaskStatus::kDone; },
        [](int) { return std::string("inference of relations"); });
    return ends;
  }

  CompletedProblem Complete(const LineageInference& inference) {
    const auto start = std::chrono::steady_clock::now();
    CompletedProblem completed = inference.Complete(problem_, options_.stop);
    result_.inference.used = true;
    result_.inference.tensors = completed.tensors;
    result_.inference.classes = completed.classes;
    result_.inference.inferred = completed.inferred;
    result_.time_s.infer = Since(start);
    return completed;
  }

  void DecideWith(const LineageInference& inference, std::optional<lineage::Problem>* to_explain) {
    CompletedProblem completed = Complete(inference);
    VerifyOptions options = options_;
    options.explain = false;
    DecideForm(completed.problem, options);
    if (options_.keep_relations) {
      result_.unrelated = NamesOf(completed.problem.parallel, completed.unrelated);
    }
    if (result_.verdict != Verdict::kUnknown || !options_.explain) return;
    ForgetWhatFaultsLookLike(&completed.problem);
    *to_explain = std::move(completed.problem);
  }

  // The same run on another form of the problem.
  void DecideForm(const lineage::Problem& form, const VerifyOptions& options) {
    Verification inner(form, options);
    inner.read_ = read_ == nullptr ? &problem_ : read_;
    inner.start_ = start_;
    inner.share_of_attempts_ = share_of_attempts_;
    inner.evidence_.well_formed = evidence_.well_formed;
    inner.result_ = std::move(result_);
    inner.Decide();
    result_ = std::move(inner.result_);
  }

  // The largest extent of the coordinates that folding added.
  int64_t RanksFolded(const lineage::Problem& folded) const {
    int64_t ranks = 1;
    for (size_t a = problem_.parallel.axes.size(); a < folded.parallel.axes.size(); ++a) {
      ranks = std::max(ranks, folded.parallel.axes[a].extent);
    }
    return ranks;
  }

  void Decide() {
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
    if (result_.worker_only) return;
    if (!proved_ && !search.Interrupted()) TryFurther(table, &search);
    std::vector<OpenCondition> conditions;
    if (proved_) CheckConditions(table, &relations, &search, &conditions);
    TakeTimes(search);
    CountStages(table, search);
    ListPremises(table, search, conditions, &relations);
    result_.relations = DescribeRequired(problem_);
    result_.outputs.claimed = static_cast<int64_t>(problem_.required.size());
    if (read_ == nullptr) {
      CountOperators(problem_, cone, proved_, &result_);
    } else {
      CountOperators(*read_, ConeOfRequired(*read_), proved_, &result_);
    }
    Answer(table, search, conditions);
    if (options_.keep_relations) {
      result_.proved_relations = ProvedRelations(problem_, table, search.ProvedClaims());
    }
    const bool audit = options_.engine == Engine::kAudit;
    if (audit || (!smt_ && !options_.dump_smt_directory.empty() && !Stopped())) {
      Audit(problem_, options_, table, relations, search, &result_);
    }
    double& total = result_.peak_rss_mb.total;
    double& largest = result_.peak_rss_mb.largest;
    total = std::max({total, search.usage().peak_total_mb, PeakResidentMegabytes()});
    largest = std::max({largest, search.usage().peak_largest_mb, PeakResidentMegabytes()});
  }

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
    const bool explain = !proved_ && (failed > 0 || smt_) && options_.explain && !Stopped();
    bool undefined_seen = false;
    if (explain) refuted_ = Refute(problem_, options_, table, first, &result_, &undefined_seen);
    if (Stopped()) return;
    if (!smt_ && explain && !refuted_ && failed <= kFewFailures)
      proved_ = search->OpenDifferences(at_first, SecondsLeft());
    if (!smt_ && explain && !refuted_ && !proved_ && !Stopped())
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
    if (Stopped()) {  // not everything was looked at, perhaps
      proved_ = false;
      return;
    }
    evidence_.conditions = *open;
    if (Acceptable(*open, options_.accept_restrictions)) return;
    proved_ = false;
    refuted_ = options_.explain && !search->Interrupted() &&
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
    if (Stopped()) ListInterrupted(table, search, !options_.stores.empty(), &result_);
    ListRestricted(problem_, table, conditions, &result_);
    if (conditions.empty()) ListUndecided(problem_, options_, table, search, &result_);
  }

  // For a further attempt.
  double SecondsLeft() const {
    return std::max(1.0, share_of_attempts_ * options_.stage_timeout_s - Since(start_));
  }

  // What is known then is reported, and nothing more is looked for.
  bool Stopped() const { return options_.stop != nullptr && options_.stop->requested; }

  const lineage::Problem& problem_;
  const lineage::Problem* read_ = nullptr;  // of which `problem_` is the folded form
  const VerifyOptions& options_;
  const bool smt_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double share_of_attempts_ = kShareOfAttempts;
  Result result_;
  bool proved_ = false, refuted_ = false;
  Evidence evidence_;
};

}  // namespace

Result Verify(const lineage::Problem& problem, const VerifyOptions& options) {
  return Verification(problem, options).Run();
}

}  // namespace planproof::stages
