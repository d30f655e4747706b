#include "strategy/assumed_relations.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "diagnosis/describe.h"
#include "lineage/assumptions.h"
#include "stages/elapsed.h"
#include "stages/problem_check.h"
#include "stages/workers/process_pool.h"
#include "strategy/form_attempts.h"

namespace planproof::strategy {

namespace {

using Need = stages::AssumedRelation::Need;

// Whether an assumption is needed is worth a part of the work that one claim may take, and a few
// seconds.
constexpr double kShareOfWork = 0.1;
constexpr double kSeconds = 3;

// What is assumed, as claims: each from what comes earlier in the plan.
lineage::Problem AssumedClaims(const lineage::AssumedProblem& assuming,
                               const std::vector<stages::AssumedRelation>& assumed) {
  lineage::Problem claims = assuming.problem;
  claims.required.clear();
  for (size_t i = 0; i < assuming.made.size(); ++i) {
    lineage::Lineage lineage = claims.lineage[assuming.assumed[i]];
    lineage.provenance = lineage::Provenance::kGiven;
    claims.required.push_back({assuming.made[i], std::move(lineage), assumed[i].tensor});
  }
  return claims;
}

// For claims that are only good to know.
stages::VerifyOptions Brief(stages::VerifyOptions options) {
  options.assume.clear();
  options.explain = options.accept_restrictions = false;
  options.keep_account = options.keep_relations = options.keep_witness = false;
  options.journal = nullptr;
  options.dump_smt_directory.clear();
  options.engine = stages::Engine::kHybrid;
  options.work_limit *= kShareOfWork;
  options.stage_timeout_s = std::min(options.stage_timeout_s, kSeconds);
  return options;
}

// `shown`: of the claims. In a folded form there are fewer: what is not known of all of them is
// known of none.
void MarkProvable(const std::vector<bool>& shown, std::vector<stages::AssumedRelation>* assumed) {
  const bool all = !shown.empty() && std::count(shown.begin(), shown.end(), false) == 0;
  if (!all && shown.size() != assumed->size()) return;
  for (size_t i = 0; i < assumed->size(); ++i) {
    stages::AssumedRelation& relation = (*assumed)[i];
    if ((all || shown[i]) && relation.need == Need::kUsed) relation.need = Need::kProvable;
  }
}

// What is refuted is required besides the outputs: that says nothing against these, and may be a
// part of the approximation.
void WithdrawRefutation(const stages::Result& of_outputs, stages::Result* result) {
  result->verdict = stages::Verdict::kUnknown;
  result->witness = nullptr;
  result->stages.unknown += std::exchange(result->stages.refuted, 0);
  for (stages::Violation& v : result->violations) {
    v.verdict = stages::Verdict::kUnknown;
    v.message = absl::StrCat("what is assumed is computed from ", v.stage,
                             ", which is not what the plan says");
    v.advice =
        "if it is a part of the approximation, assume it, too, or leave its lineage out of the "
        "plan";
  }
  result->violations.insert(result->violations.end(), of_outputs.violations.begin(),
                            of_outputs.violations.end());
}

}  // namespace

std::optional<lineage::AssumedProblem> UnderAssumptions(const lineage::Problem& problem,
                                                        const stages::VerifyOptions& options,
                                                        stages::Result* known) {
  absl::StatusOr<lineage::AssumedProblem> assuming = lineage::Assume(problem, options.assume);
  absl::Status status = assuming.status();
  if (status.ok()) status = stages::CheckProblem(assuming->problem);
  if (!status.ok()) {
    stages::Violation& v = known->violations.emplace_back();
    v.kind = "assumption refused";
    v.message = v.cause = std::string(status.message());
    known->verdict = v.verdict;
    return std::nullopt;
  }
  known->outputs.required = static_cast<int64_t>(assuming->problem.required.size());
  known->assumed = diagnosis::DescribeAssumptions(problem, options.assume);
  return *std::move(assuming);
}

stages::Result ConsiderAssumptions(const lineage::AssumedProblem& assuming, size_t outputs,
                                   const RunContext& context, const stages::Result& known,
                                   stages::Result result) {
  result.assumed = known.assumed;
  const bool proved = result.verdict == stages::Verdict::kProved;
  const bool answered = proved ? context.options.executor != nullptr || Stopped(context.options)
                               : result.verdict != stages::Verdict::kRefuted ||
                                     assuming.problem.required.size() == outputs;
  if (answered) return result;
  const auto start = std::chrono::steady_clock::now();
  stages::StopRequest enough;
  // After a proof: are the assumptions needed? After a refutation: is it one of the outputs?
  lineage::Problem question;
  stages::VerifyOptions options;
  if (proved) {
    question = AssumedClaims(assuming, result.assumed);
    options = Brief(context.options);
    options.stop = &enough;
    options.progress = [&](const stages::Progress& /*progress*/) {
      if (stages::Since(start) > kSeconds || Stopped(context.options)) enough.requested = true;
    };
  } else {
    question = assuming.problem;
    question.required.resize(outputs);  // what else is required comes behind them
    options = context.options;
    options.executor = nullptr;  // those who shared the work are done with it
  }
  const RunContext again{.options = options,
                         .operators = context.operators,
                         .start = start,
                         .well_formed = context.well_formed,
                         // The plan's have been looked at, or are not asked for.
                         .behind_assumptions = !proved};
  stages::Result answer = TryForms(question, again, known);
  if (proved) {
    MarkProvable(answer.required_shown, &result.assumed);
    return result;
  }
  answer.assumed = result.assumed;
  if (answer.verdict == stages::Verdict::kRefuted) return answer;
  WithdrawRefutation(answer, &result);
  return result;
}

std::string VerdictInWords(const stages::Result& result) {
  const auto counted = [](size_t count, const char* what) {
    return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
  };
  std::string verdict = stages::VerdictName(result.verdict);
  if (!result.assumed.empty()) {
    absl::StrAppend(&verdict, " under ", counted(result.assumed.size(), "assumption"));
  }
  if (result.verdict == stages::Verdict::kProved && !result.restrictions.empty()) {
    absl::StrAppend(&verdict, result.assumed.empty() ? " under " : " and ",
                    counted(result.restrictions.size(), "restriction"));
  }
  return verdict;
}

const char* NeedName(Need need) {
  switch (need) {
    case Need::kUsed:
      return "used";
    case Need::kProvable:
      return "provable";
    case Need::kNoEffect:
      return "no effect";
  }
  return "used";
}

std::string InWords(const stages::AssumedRelation& assumed) {
  std::string text = absl::StrCat(assumed.relation, ", of ", assumed.op);
  if (assumed.place.line > 0) absl::StrAppend(&text, " at ", assumed.place.ToString());
  absl::StrAppend(&text, ": ", assumed.reason, " (", assumed.stated_at, ")");
  switch (assumed.need) {
    case Need::kUsed:
      break;
    case Need::kProvable:
      text += "; not needed: the rest implies it";
      break;
    case Need::kNoEffect:
      text += "; not needed: given the rest, no required output depends on it";
      break;
  }
  return text;
}

}  // namespace planproof::strategy
