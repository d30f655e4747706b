#include "strategy/verify.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "stages/cone.h"
#include "stages/elapsed.h"
#include "stages/plan_check.h"
#include "stages/workers/process_pool.h"
#include "strategy/assumed_relations.h"
#include "strategy/expected_schedule.h"
#include "strategy/form_attempts.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

namespace {

const char* EngineName(stages::Engine engine) {
  switch (engine) {
    case stages::Engine::kHybrid:
      return "hybrid";
    case stages::Engine::kSmt:
      return "smt";
    case stages::Engine::kAudit:
      return "audit";
  }
  return "";
}

}  // namespace

stages::Result Verify(const lineage::Problem& problem, const stages::VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const stages::StopWatch watch(options.stop);
  stages::Result known;
  known.engine = EngineName(options.engine);
  known.assumptions = problem.assumptions;
  known.warnings = problem.warnings;
  known.outputs.required = static_cast<int64_t>(problem.required.size());
  const std::optional<stages::StepOrder> order = stages::CheckPlan(problem, options, &known);
  known.time_s.check = stages::Since(start);
  if (!order.has_value() || !CheckExpectedSchedule(*order, options.expect_schedule, &known)) {
    known.time_s.total = stages::Since(start);
    return known;
  }
  std::optional<lineage::AssumedProblem> assuming;
  if (!options.assume.empty()) {
    assuming = UnderAssumptions(problem, options, &known);
    if (!assuming.has_value()) {
      known.time_s.total = stages::Since(start);
      return known;
    }
  }
  const lineage::Problem& decided = assuming.has_value() ? assuming->problem : problem;
  const stages::Cone read = stages::ConeOfRequired(problem),
                     cone = assuming ? stages::ConeOfRequired(decided) : read;
  stages::OperatorCounts operators = stages::CountOperators(decided, cone);
  if (assuming.has_value()) {
    operators.without_effect = stages::CountOperators(problem, read).without_effect;
    known.behind_assumptions = stages::OperatorsBetween(problem, read, cone);
    for (size_t i = 0; i < known.assumed.size(); ++i) {
      if (!cone.tensors[assuming->assumed[i]])
        known.assumed[i].need = stages::AssumedRelation::Need::kNoEffect;
    }
  }
  std::vector<stages::Attempt> attempts;
  const RunContext context{.options = options,
                           .operators = operators,
                           .start = start,
                           .well_formed = order.has_value(),
                           .attempts = &attempts};
  stages::Result result = TryForms(decided, context, known);
  if (assuming.has_value()) {
    result =
        ConsiderAssumptions(*assuming, problem.required.size(), context, known, std::move(result));
  }
  result.attempts = std::move(attempts);
  result.time_s.total = stages::Since(start);
  return result;
}

}  // namespace planproof::strategy
