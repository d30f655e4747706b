#include "stages/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "stages/claim_table.h"
#include "stages/completed_forms.h"
#include "stages/decision.h"
#include "stages/elapsed.h"
#include "stages/plan_check.h"
#include "stages/schedule/expected_schedule.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

namespace {

constexpr double kShareOfAttempts = 0.75;
constexpr double kShareOfFoldedAttempts = 0.4;
// So many ranks spelled out make terms that many times as large.
constexpr int64_t kManyRanks = 8;

Result Begin(const lineage::Problem& problem, const VerifyOptions& options) {
  Result result;
  result.engine = options.engine == Engine::kHybrid ? "hybrid"
                  : options.engine == Engine::kSmt  ? "smt"
                                                    : "audit";
  result.assumptions = problem.assumptions;
  result.warnings = problem.warnings;
  result.outputs.required = static_cast<int64_t>(problem.required.size());
  return result;
}

// Whether the order of microbatches is the one that the plan claims to follow.
bool FollowsExpectedSchedule(const lineage::Problem& problem, const VerifyOptions& options,
                             Result* result) {
  if (options.expect_schedule == PipelineSchedule::kAny) return true;
  std::optional<Violation> deviation = CheckExpectedSchedule(problem, options.expect_schedule);
  if (!deviation.has_value()) return true;
  result->verdict = deviation->verdict;
  result->violations.push_back(*std::move(deviation));
  return false;
}

// The problem with ranks folded, if there are ranks to fold.
std::optional<lineage::Problem> Folded(const lineage::Problem& problem,
                                       const VerifyOptions& options, Result* result) {
  if (!options.fold_ranks || options.engine != Engine::kHybrid || options.executor != nullptr ||
      !options.dump_smt_directory.empty()) {
    return std::nullopt;
  }
  absl::StatusOr<std::optional<lineage::Problem>> folded = lineage::folding::FoldChecked(problem);
  if (!folded.ok()) {
    result->warnings.push_back(
        absl::StrCat("ranks are not folded: ", std::string(folded.status().message())));
    return std::nullopt;
  }
  if (folded->has_value() && !CheckProblem(**folded).ok()) return std::nullopt;
  return *std::move(folded);
}

// The largest extent of the coordinates that folding added.
int64_t RanksFolded(const lineage::Problem& problem, const lineage::Problem& folded) {
  int64_t ranks = 1;
  for (size_t a = problem.parallel.axes.size(); a < folded.parallel.axes.size(); ++a) {
    ranks = std::max(ranks, folded.parallel.axes[a].extent);
  }
  return ranks;
}

// Folding is to save work, never to lose an answer: what it does not prove is decided as it was
// read, and explained in the file's own operators. Only where that would be many times the work is
// a counterexample looked for in the folded form.
Result DecideForms(const lineage::Problem& problem, const std::optional<lineage::Problem>& folded,
                   RunContext context, const Result& known) {
  const Effort effort = context.options.explain ? Effort::kAll : Effort::kProofs;
  if (folded.has_value()) {
    const bool many = RanksFolded(problem, *folded) >= kManyRanks;
    Result on_folded = known;
    on_folded.outputs.required = static_cast<int64_t>(folded->required.size());
    context.share_of_attempts = kShareOfFoldedAttempts;
    Result result =
        DecideCompleted(*folded, context, many ? effort : Effort::kProofs, std::move(on_folded));
    if (result.verdict != Verdict::kUnknown || Stopped(context.options)) return result;
  }
  context.share_of_attempts = kShareOfAttempts;
  return DecideCompleted(problem, context, effort, known);
}

}  // namespace

Result Verify(const lineage::Problem& problem, const VerifyOptions& options) {
  const StopWatch watch(options.stop);
  RunContext context{.options = options, .read = problem};
  Result result = Begin(problem, options);
  context.well_formed = CheckPlan(problem, options, &result);
  result.time_s.check = Since(context.start);
  if (context.well_formed && FollowsExpectedSchedule(problem, options, &result)) {
    const std::optional<lineage::Problem> folded = Folded(problem, options, &result);
    result.time_s.check = Since(context.start);
    result = DecideForms(problem, folded, context, result);
  }
  result.time_s.total = Since(context.start);
  return result;
}

}  // namespace planproof::stages
