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
  if (!options.assume.empty()) {
    Result result = VerifyAssuming(problem, options, start, std::move(known));
    result.time_s.total = Since(start);
    return result;
  }
  const Cone cone = ConeOfRequired(problem);
  const OperatorCounts operators = CountOperators(problem, cone);
  const RunContext context{
      .options = options, .operators = operators, .start = start, .well_formed = order.has_value()};
  Result result = DecideForms(problem, context, std::move(known));
  result.time_s.total = Since(start);
  return result;
}

}  // namespace planproof::stages
