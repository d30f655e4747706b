#include "stages/problem_forms.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "lineage/reads_of_parts.h"
#include "lineage/repeated_operators.h"
#include "lineage/rounds/fold_rounds.h"
#include "stages/completed_forms.h"
#include "stages/elapsed.h"
#include "stages/problem_check.h"

namespace planproof::stages {

namespace {

constexpr double kShareOfAttempts = 0.6;
constexpr double kShareOfFoldedAttempts = 0.4;
constexpr double kShareOfRoundsAttempts = 0.1;
// So many ranks spelled out make terms that many times as large.
constexpr int64_t kManyRanks = 8;

bool FoldsForms(const VerifyOptions& options) {
  return options.fold_ranks && options.engine == Engine::kHybrid && options.executor == nullptr &&
         options.dump_smt_directory.empty();
}

// The problem with ranks folded, if there are ranks to fold.
std::optional<lineage::Problem> Folded(const lineage::Problem& problem,
                                       const VerifyOptions& options, Result* known) {
  if (!FoldsForms(options)) return std::nullopt;
  absl::StatusOr<std::optional<lineage::Problem>> folded = lineage::folding::FoldChecked(problem);
  if (!folded.ok()) {
    known->warnings.push_back(
        absl::StrCat("ranks are not folded: ", std::string(folded.status().message())));
    return std::nullopt;
  }
  if (folded->has_value() && !CheckProblem(**folded).ok()) return std::nullopt;
  return *std::move(folded);
}

// Decides the problem with the rounds of its rings folded, if there are such. Only a proof counts:
// the folded form asks for more than the plan has to fulfil.
std::optional<Result> ProvedByRounds(const lineage::Problem& problem, RunContext context,
                                     const Result& known) {
  const VerifyOptions& options = context.options;
  if (!FoldsForms(options) || options.accept_restrictions) return std::nullopt;
  const std::optional<lineage::Problem> folded = lineage::rounds::FoldRounds(problem);
  if (!folded.has_value() || !CheckProblem(*folded).ok()) return std::nullopt;
  context.share_of_attempts = kShareOfRoundsAttempts;
  Result result = DecideCompleted(*folded, context, Effort::kProofs, known);
  if (result.verdict != Verdict::kProved || !result.restrictions.empty()) return std::nullopt;
  return result;
}

// The largest extent of the coordinates that folding added.
int64_t RanksFolded(const lineage::Problem& problem, const lineage::Problem& folded) {
  int64_t ranks = 1;
  for (size_t a = problem.parallel.axes.size(); a < folded.parallel.axes.size(); ++a) {
    ranks = std::max(ranks, folded.parallel.axes[a].extent);
  }
  return ranks;
}

bool IsDecided(const Result& result, const RunContext& context) {
  return result.verdict != Verdict::kUnknown || Stopped(context.options);
}

}  // namespace

Result DecideForms(const lineage::Problem& read, RunContext context, Result known) {
  std::optional<lineage::Problem> parted = lineage::WithReadsOfParts(read);
  if (parted.has_value() && !CheckProblem(*parted).ok()) parted.reset();
  const lineage::Problem& parts = parted.has_value() ? *parted : read;
  const std::optional<lineage::Problem> merged = lineage::WithoutRepeatedOperators(parts);
  const lineage::Problem& problem = merged.has_value() ? *merged : parts;
  if (std::optional<Result> result = ProvedByRounds(problem, context, known)) return *result;
  const Effort effort = context.options.explain ? Effort::kAll : Effort::kProofs;
  const std::optional<lineage::Problem> folded = Folded(problem, context.options, &known);
  known.time_s.check = Since(context.start);
  if (folded.has_value()) {
    // What is wrong in a plan of few ranks is said of these ranks, if their names mean something.
    const bool few = RanksFolded(problem, *folded) < kManyRanks;
    const bool as_written = few && problem.names_tell && effort > Effort::kProofs;
    Result on_folded = known;
    on_folded.outputs.required = static_cast<int64_t>(folded->required.size());
    context.share_of_attempts = kShareOfFoldedAttempts;
    if (as_written) {
      // Where claims fail, the plan is mostly wrong, and numbers tell so sooner than further
      // proofs.
      Result result = DecideCompleted(*folded, context, Effort::kClaims, on_folded);
      if (IsDecided(result, context)) return result;
      if (result.stages.proved < result.stages.total) {
        result = DecideCompleted(problem, context, Effort::kQuickNumbers, known);
        if (IsDecided(result, context)) return result;
        context.looked = true;
      }
    }
    const Effort at_first = !few         ? effort
                            : as_written ? Effort::kProofs
                                         : std::min(effort, Effort::kFirstNumbers);
    Result result = DecideCompleted(*folded, context, at_first, std::move(on_folded));
    if (IsDecided(result, context)) return result;
  }
  context.share_of_attempts = kShareOfAttempts;
  return DecideCompleted(problem, context, effort, std::move(known));
}

}  // namespace planproof::stages
