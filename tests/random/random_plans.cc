#include "tests/random/random_plans.h"

#include <chrono>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mutation/mutate.h"
#include "tests/random/plan_builder.h"

namespace planproof::random_tests {
namespace {

void Build(PlanBuilder* builder, uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x5bd1e995);
  const int steps = 3 + static_cast<int>(random() % 4);
  Value value = builder->Start();
  for (int k = 0; k < steps; ++k) value = builder->Step(value);
  builder->Require(value);
}

}  // namespace

RandomPlan MakeRandomPlan(uint64_t seed, bool wrong) {
  RandomPlan plan;
  plan.seed = seed;
  PlanBuilder right(seed, -1);
  Build(&right, seed);
  plan.steps = right.steps();
  plan.longest_interval = right.longest_interval();
  plan.problem = right.TakeProblem();
  if (!wrong) return plan;
  if (right.places() == 0) {
    // Any single fault that leaves the plan well-shaped.
    for (uint64_t k = 0; k < 50; ++k) {
      lineage::Problem changed = plan.problem;
      const auto fault = mutation::Mutate(changed, "random", seed + k);
      if (!fault.ok() || fault->kind == "wrong device" || !changed.parallel.Check().ok()) continue;
      plan.problem = std::move(changed);
      plan.fault = fault->what;
      break;
    }
    return plan;
  }
  PlanBuilder faulty(seed, static_cast<int>((seed * 2654435761u >> 8) % right.places()));
  Build(&faulty, seed);
  plan.fault = faulty.fault();
  plan.problem = faulty.TakeProblem();
  return plan;
}

PlanTrial TryRandomPlan(const RandomPlan& plan, int samples) {
  PlanTrial trial;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.stage_timeout_s = 20;
  const auto start = std::chrono::steady_clock::now();
  const stages::Result result = strategy::Verify(plan.problem, options);
  trial.verify_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trial.verdict = result.verdict;
  if (!result.violations.empty()) trial.reason = result.violations[0].message;
  DenseJudge judge(plan.problem, samples, 1, plan.seed);
  const auto judgement = judge.Judge(plan.problem);
  trial.evaluated = judgement.ok() && judgement->samples > 0;
  trial.equal = judgement.ok() && judgement->equal;
  trial.difference =
      judgement.ok() ? judgement->difference : std::string(judgement.status().message());
  return trial;
}

void PlanSummary::Add(const RandomPlan& plan, const PlanTrial& trial) {
  ++plans;
  faults += !plan.fault.empty();
  false_proofs += trial.FalseProof();
  false_refutations += trial.FalseRefutation();
  ++counts[absl::StrCat(trial.equal ? "equal" : "different", ", ",
                        stages::VerdictName(trial.verdict))];
}

std::string PlanSummary::Table() const {
  std::string text = absl::StrCat(plans, " plans, ", faults, " with a fault\n");
  for (const auto& [name, number] : counts)
    absl::StrAppendFormat(&text, "%-24s %d\n", name, number);
  absl::StrAppend(&text, "false PROVED: ", false_proofs, ", false REFUTED: ", false_refutations,
                  "\n");
  return text;
}

}  // namespace planproof::random_tests
