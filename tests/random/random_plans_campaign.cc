// Random small plans: the verdict against exact evaluation of full shapes.
#include <fstream>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/random/random_plans.h"

int main(int argc, char** argv) {
  using namespace planproof;
  CLI::App app("Random small plans, every second one with a fault");
  int count = 500;
  uint64_t seed = 1;
  bool verbose = false;
  app.add_option("--count", count, "Plans");
  app.add_option("--seed", seed, "Of the first plan; odd seeds make wrong plans");
  app.add_flag("--verbose", verbose, "List every plan");
  CLI11_PARSE(app, argc, argv);
  random_tests::PlanSummary summary;
  double slowest = 0;
  for (int k = 0; k < count; ++k) {
    const random_tests::RandomPlan plan =
        random_tests::MakeRandomPlan(seed + k, (seed + k) % 2 == 1);
    const random_tests::PlanTrial trial = random_tests::TryRandomPlan(plan, 20);
    summary.Add(plan, trial);
    slowest = std::max(slowest, trial.verify_seconds);
    const bool unknown =
        trial.verdict == stages::Verdict::kUnknown || trial.verdict == stages::Verdict::kMalformed;
    if (!verbose && !unknown && !trial.FalseProof() && !trial.FalseRefutation()) continue;
    std::cout << (trial.FalseProof()        ? "FALSE PROVED: "
                  : trial.FalseRefutation() ? "FALSE REFUTED: "
                                            : "")
              << "seed " << plan.seed << " " << stages::VerdictName(trial.verdict) << " "
              << (trial.equal ? "equal" : "different") << ": " << plan.steps
              << (plan.fault.empty() ? "" : "; fault: ") << plan.fault << "\n  " << trial.reason
              << "\n  " << trial.difference << std::endl;
  }
  std::cout << summary.Table() << "slowest verification " << slowest << " s\n";
  return summary.false_proofs + summary.false_refutations > 0 ? 1 : 0;
}
