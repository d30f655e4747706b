// Random plans that spell every rank out: folded and as they are.
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/random/explicit_plans.h"

int main(int argc, char** argv) {
  using namespace planproof;
  CLI::App app(
      "Random plans that spell ranks out, every second one with an instance that deviates");
  int count = 2000;
  uint64_t seed = 1;
  app.add_option("--count", count, "Plans");
  app.add_option("--seed", seed, "Of the first plan; odd seeds make plans that deviate");
  CLI11_PARSE(app, argc, argv);
  random_tests::FoldSummary summary;
  int differ = 0;
  for (int k = 0; k < count; ++k) {
    const random_tests::ExplicitPlan plan =
        random_tests::MakeExplicitPlan(seed + k, (seed + k) % 2 == 1);
    const random_tests::FoldTrial trial = random_tests::TryExplicitPlan(plan);
    summary.Add(plan, trial);
    const bool wrong = plan.deviation.empty() && trial.with != stages::Verdict::kProved;
    if (trial.Agrees() && !wrong) continue;
    ++differ;
    std::cout << "seed " << plan.seed << ", " << plan.ranks
              << " ranks: " << stages::VerdictName(trial.with) << ", without folding "
              << stages::VerdictName(trial.without) << ": " << plan.steps << "; " << plan.deviation
              << "\n  " << trial.reason << "\n  " << trial.difference << std::endl;
  }
  std::cout << summary.Table();
  return differ > 0 ? 1 : 0;
}
