#include "stages/assumed_relations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lineage/assumptions.h"
#include "stages/cone.h"
#include "stages/describe.h"
#include "stages/elapsed.h"
#include "stages/problem_check.h"
#include "stages/problem_forms.h"
#include "stages/run_context.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

namespace {

using Need = AssumedRelation::Need;

// Whether an assumption is needed is worth a part of the work that one claim may take, and a few
// seconds.
constexpr double kShareOfWork = 0.1;
constexpr double kSeconds = 3;

Result Refused(const std::string& message, Result known) {
  Violation v;
  v.kind = "assumption refused";
  v.message = v.cause = message;
  known.verdict = v.verdict;
  known.violations.push_back(std::move(v));
  return known;
}

// Of a plan that is proved: which assumptions are claims that can be proved, each from those that
// come earlier in the plan.
void FindProvable(const lineage::AssumedProblem& assuming, const RunContext& context,
                  Result* result) {
  if (context.options.executor != nullptr || Stopped(context.options)) return;
  lineage::Problem claims = assuming.problem;
  claims.required.clear();
  for (size_t i = 0; i < assuming.made.size(); ++i) {
    lineage::Lineage lineage = claims.lineage[context.options.assume[i].tensor];
    lineage.provenance = lineage::Provenance::kGiven;
    claims.required.push_back({assuming.made[i], std::move(lineage), result->assumed[i].tensor});
  }
  const auto start = std::chrono::steady_clock::now();
  StopRequest enough;
  VerifyOptions options = context.options;
  options.assume.clear();
  options.explain = options.accept_restrictions = false;
  options.keep_account = options.keep_relations = options.keep_witness = false;
  options.journal = nullptr;
  options.dump_smt_directory.clear();
  options.engine = Engine::kHybrid;
  options.work_limit *= kShareOfWork;
  options.stage_timeout_s = std::min(options.stage_timeout_s, kSeconds);
  options.stop = &enough;
  options.progress = [&](const Progress& /*progress*/) {
    if (Since(start) > kSeconds || Stopped(context.options)) enough.requested = true;
  };
  const RunContext brief{.options = options,
                         .operators = context.operators,
                         .start = start,
                         .well_formed = context.well_formed};
  Result known;
  known.assumed = result->assumed;
  const std::vector<bool> shown = DecideForms(claims, brief, std::move(known)).required_shown;
  // In a folded form there are fewer: what is not known of all of them is known of none.
  const bool all = !shown.empty() && std::count(shown.begin(), shown.end(), false) == 0;
  if (!all && shown.size() != assuming.made.size()) return;
  for (size_t i = 0; i < assuming.made.size(); ++i) {
    AssumedRelation& assumed = result->assumed[i];
    if ((all || shown[i]) && assumed.need == Need::kUsed) assumed.need = Need::kProvable;
  }
}

// Of a result that refutes what is required besides the outputs: it says nothing against these, and
// what is refuted may be a part of the approximation.
Result WithoutRefutation(Result result, const Result& of_outputs) {
  result.verdict = Verdict::kUnknown;
  result.witness = nullptr;
  result.stages.unknown += std::exchange(result.stages.refuted, 0);
  for (Violation& v : result.violations) {
    v.verdict = Verdict::kUnknown;
    v.message = absl::StrCat("what is assumed is computed from ", v.stage,
                             ", which is not what the plan says");
    v.advice =
        "if it is a part of the approximation, assume it, too, or leave its lineage out of the "
        "plan";
  }
  result.violations.insert(result.violations.end(), of_outputs.violations.begin(),
                           of_outputs.violations.end());
  return result;
}

// Decides the outputs, and what the approximated operators read. Only outputs are refuted.
Result Decide(const lineage::AssumedProblem& assuming, size_t outputs, const RunContext& context,
              const Result& known) {
  Result result = DecideForms(assuming.problem, context, known);
  if (result.verdict != Verdict::kRefuted || assuming.problem.required.size() == outputs) {
    return result;
  }
  lineage::Problem alone = assuming.problem;
  alone.required.resize(outputs);  // what else is required comes behind them
  VerifyOptions options = context.options;
  options.executor = nullptr;  // those who shared the work are done with it
  const RunContext again{.options = options,
                         .operators = context.operators,
                         .start = std::chrono::steady_clock::now(),
                         .well_formed = context.well_formed};
  Result of_outputs = DecideForms(alone, again, known);
  if (of_outputs.verdict == Verdict::kRefuted) return of_outputs;
  return WithoutRefutation(std::move(result), of_outputs);
}

}  // namespace

std::vector<AssumedRelation> DescribeAssumptions(const lineage::Problem& problem,
                                                 const std::vector<lineage::Assumption>& all) {
  std::vector<AssumedRelation> described;
  const sdfg::Graph& graph = problem.parallel;
  for (const lineage::Assumption& assumption : all) {
    const sdfg::Tensor& tensor = graph.tensors[assumption.tensor];
    AssumedRelation& to = described.emplace_back();
    to.tensor = tensor.name;
    to.op = DescribeOperators(graph, {tensor.producer}, Names::kAll)[0];
    to.place = graph.operators[tensor.producer].source;
    to.relation = DescribeLineage(problem, assumption.tensor, assumption.lineage);
    to.logical = problem.logical.tensors[assumption.lineage.logical].name;
    to.reason = assumption.reason;
    to.stated_at = assumption.place;
  }
  return described;
}

Result VerifyAssuming(const lineage::Problem& problem, const VerifyOptions& options,
                      std::chrono::steady_clock::time_point start, Result known) {
  const absl::StatusOr<lineage::AssumedProblem> assuming = lineage::Assume(problem, options.assume);
  if (!assuming.ok()) return Refused(std::string(assuming.status().message()), std::move(known));
  if (const absl::Status s = CheckProblem(assuming->problem); !s.ok()) {
    return Refused(std::string(s.message()), std::move(known));
  }
  const Cone whole = ConeOfRequired(problem), decided = ConeOfRequired(assuming->problem);
  OperatorCounts operators = CountOperators(assuming->problem, decided);
  operators.without_effect = CountOperators(problem, whole).without_effect;
  const sdfg::Graph& graph = problem.parallel;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    if (!whole.operators[o] || decided.operators[o]) continue;
    const int64_t instances = graph.InstanceCount(graph.operators[o]);
    known.behind_assumptions.push_back(
        absl::StrCat(graph.Describe(static_cast<sdfg::OperatorId>(o)), " (", instances,
                     instances == 1 ? " instance)" : " instances)"));
  }
  known.outputs.required = static_cast<int64_t>(assuming->problem.required.size());
  known.assumed = DescribeAssumptions(problem, options.assume);
  for (size_t i = 0; i < known.assumed.size(); ++i) {
    if (!decided.tensors[options.assume[i].tensor]) known.assumed[i].need = Need::kNoEffect;
  }
  const std::vector<AssumedRelation> assumed = known.assumed;
  const RunContext context{
      .options = options, .operators = operators, .start = start, .well_formed = true};
  Result result = Decide(*assuming, problem.required.size(), context, known);
  result.assumed = assumed;
  if (result.verdict == Verdict::kProved) FindProvable(*assuming, context, &result);
  return result;
}

std::string VerdictInWords(const Result& result) {
  const std::string verdict = VerdictName(result.verdict);
  const size_t count = result.assumed.size();
  if (count == 0) return verdict;
  return absl::StrCat(verdict, " under ", count, count == 1 ? " assumption" : " assumptions");
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

std::string InWords(const AssumedRelation& assumed) {
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

}  // namespace planproof::stages
