#include "stages/verify.h"

#include <chrono>
#include <optional>
#include <utility>

#include "stages/cone.h"
#include "stages/elapsed.h"
#include "stages/plan_check.h"
#include "stages/problem_forms.h"
#include "stages/run_context.h"
#include "stages/schedule/expected_schedule.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

namespace {

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

}  // namespace

Result Verify(const lineage::Problem& problem, const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const StopWatch watch(options.stop);
  Result result = Begin(problem, options);
  const std::optional<StepOrder> order = CheckPlan(problem, options, &result);
  result.time_s.check = Since(start);
  if (order.has_value() && CheckExpectedSchedule(*order, options.expect_schedule, &result)) {
    const OperatorCounts operators = CountOperators(problem, ConeOfRequired(problem));
    const RunContext context{.options = options,
                             .operators = operators,
                             .start = start,
                             .well_formed = order.has_value()};
    result = DecideForms(problem, context, std::move(result));
  }
  result.time_s.total = Since(start);
  return result;
}

}  // namespace planproof::stages
