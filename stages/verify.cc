#include "stages/verify.h"

#include <chrono>
#include <optional>
#include <utility>

#include "stages/assumed_relations.h"
#include "stages/cone.h"
#include "stages/elapsed.h"
#include "stages/plan_check.h"
#include "stages/problem_forms.h"
#include "stages/run_context.h"
#include "stages/schedule/expected_schedule.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

namespace {

const char* EngineName(Engine engine) {
  switch (engine) {
    case Engine::kHybrid:
      return "hybrid";
    case Engine::kSmt:
      return "smt";
    case Engine::kAudit:
      return "audit";
  }
  return "";
}

}  // namespace

Result Verify(const lineage::Problem& problem, const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const StopWatch watch(options.stop);
  Result known;
  known.engine = EngineName(options.engine);
  known.assumptions = problem.assumptions;
  known.warnings = problem.warnings;
  known.outputs.required = static_cast<int64_t>(problem.required.size());
  const std::optional<StepOrder> order = CheckPlan(problem, options, &known);
  known.time_s.check = Since(start);
  if (!order.has_value() || !CheckExpectedSchedule(*order, options.expect_schedule, &known)) {
    known.time_s.total = Since(start);
    return known;
  }
  std::optional<lineage::AssumedProblem> assuming;
  if (!options.assume.empty()) {
    assuming = UnderAssumptions(problem, options, &known);
    if (!assuming.has_value()) {
      known.time_s.total = Since(start);
      return known;
    }
  }
  const lineage::Problem& decided = assuming.has_value() ? assuming->problem : problem;
  const Cone read = ConeOfRequired(problem), cone = assuming ? ConeOfRequired(decided) : read;
  OperatorCounts operators = CountOperators(decided, cone);
  if (assuming.has_value()) {
    operators.without_effect = CountOperators(problem, read).without_effect;
    known.behind_assumptions = OperatorsBetween(problem, read, cone);
    for (size_t i = 0; i < known.assumed.size(); ++i) {
      if (!cone.tensors[assuming->assumed[i]])
        known.assumed[i].need = AssumedRelation::Need::kNoEffect;
    }
  }
  const RunContext context{
      .options = options, .operators = operators, .start = start, .well_formed = order.has_value()};
  Result result = DecideForms(decided, context, known);
  if (assuming.has_value()) {
    result =
        ConsiderAssumptions(*assuming, problem.required.size(), context, known, std::move(result));
  }
  result.time_s.total = Since(start);
  return result;
}

}  // namespace planproof::stages
