#include "strategy/form_attempts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "lineage/reads_of_parts.h"
#include "lineage/repeated_operators.h"
#include "lineage/rounds/fold_rounds.h"
#include "stages/elapsed.h"
#include "stages/problem_check.h"
#include "strategy/relation_attempts.h"
#include "strategy/strategy_table.h"

namespace planproof::strategy {

namespace {

bool FoldsForms(const stages::VerifyOptions& options) {
  return options.fold_ranks && options.engine == stages::Engine::kHybrid &&
         options.executor == nullptr && options.dump_smt_directory.empty();
}

// The problem with ranks folded, if there are ranks to fold.
std::optional<lineage::Problem> WithRanksFolded(const lineage::Problem& problem,
                                                const stages::VerifyOptions& options,
                                                stages::Result* known) {
  if (!FoldsForms(options)) return std::nullopt;
  absl::StatusOr<std::optional<lineage::Problem>> folded = lineage::folding::FoldChecked(problem);
  if (!folded.ok()) {
    known->warnings.push_back(
        absl::StrCat("ranks are not folded: ", std::string(folded.status().message())));
    return std::nullopt;
  }
  if (folded->has_value() && !stages::CheckProblem(**folded).ok()) return std::nullopt;
  return *std::move(folded);
}

// The problem with the rounds of its rings folded, if there are such.
std::optional<lineage::Problem> WithRoundsFolded(const lineage::Problem& problem,
                                                 const stages::VerifyOptions& options) {
  if (!FoldsForms(options) || options.accept_restrictions) return std::nullopt;
  std::optional<lineage::Problem> folded = lineage::rounds::FoldRounds(problem);
  if (folded.has_value() && !stages::CheckProblem(*folded).ok()) return std::nullopt;
  return folded;
}

// The largest extent of the coordinates that folding added.
int64_t RanksFolded(const lineage::Problem& problem, const lineage::Problem& folded) {
  int64_t ranks = 1;
  for (size_t a = problem.parallel.axes.size(); a < folded.parallel.axes.size(); ++a) {
    ranks = std::max(ranks, folded.parallel.axes[a].extent);
  }
  return ranks;
}

class FormAttempts {
 public:
  FormAttempts(const lineage::Problem& problem, const RunContext& context, stages::Result known)
      : problem_(problem), context_(context), known_(std::move(known)) {}

  stages::Result Run() {
    stages::Result result = known_;
    for (const FormRow& row : kForms) {
      if (!Applies(row)) continue;
      result = Try(row);
      if (row.form == Form::kRoundsFolded) {
        // The folded form asks for more than the plan has to fulfil.
        const bool proved =
            result.verdict == stages::Verdict::kProved && result.restrictions.empty();
        if (!proved) continue;
      }
      if (result.verdict != stages::Verdict::kUnknown || Stopped(context_.options)) break;
      claims_open_ = result.stages.proved < result.stages.total;
      if (row.most == Method::kGlance) context_.looked = true;
    }
    return result;
  }

 private:
  bool Applies(const FormRow& row) {
    if (row.form == Form::kRoundsFolded) {
      rounds_ = WithRoundsFolded(problem_, context_.options);
      return rounds_.has_value();
    }
    FoldRanks();
    if (row.when == FormCondition::kAlways) return true;
    if (!ranks_.has_value()) return false;
    const bool few = RanksFolded(problem_, *ranks_) < kManyRanks;
    const bool named = few && problem_.names_tell && context_.options.explain;
    switch (row.when) {
      case FormCondition::kAlways:
        return true;
      case FormCondition::kNamedRanks:
        return named;
      case FormCondition::kNamedRanksAndClaimsOpen:
        return named && claims_open_;
      case FormCondition::kUnnamedRanks:
        return few && !named;
      case FormCondition::kManyRanks:
        return !few;
    }
    return false;
  }

  void FoldRanks() {
    if (std::exchange(ranks_tried_, true)) return;
    ranks_ = WithRanksFolded(problem_, context_.options, &known_);
    known_.time_s.check = stages::Since(context_.start);
  }

  stages::Result Try(const FormRow& row) {
    context_.form = row.form;
    context_.share_of_time = row.share_of_time;
    const Method method = context_.options.explain ? row.most : std::min(row.most, Method::kProve);
    stages::Result known = known_;
    switch (row.form) {
      case Form::kRoundsFolded:
        return TryRelations(*rounds_, context_, method, std::move(known));
      case Form::kRanksFolded:
        known.outputs.required = static_cast<int64_t>(ranks_->required.size());
        return TryRelations(*ranks_, context_, method, std::move(known));
      case Form::kAsRead:
        break;
    }
    return TryRelations(problem_, context_, method, std::move(known));
  }

  const lineage::Problem& problem_;
  RunContext context_;
  stages::Result known_;
  std::optional<lineage::Problem> rounds_, ranks_;
  bool ranks_tried_ = false, claims_open_ = false;
};

}  // namespace

stages::Result TryForms(const lineage::Problem& read, RunContext context, stages::Result known) {
  std::optional<lineage::Problem> parted = lineage::WithReadsOfParts(read);
  if (parted.has_value() && !stages::CheckProblem(*parted).ok()) parted.reset();
  const lineage::Problem& parts = parted.has_value() ? *parted : read;
  const std::optional<lineage::Problem> merged = lineage::WithoutRepeatedOperators(parts);
  const lineage::Problem& problem = merged.has_value() ? *merged : parts;
  return FormAttempts(problem, context, std::move(known)).Run();
}

}  // namespace planproof::strategy
