// Random rings: the verdict, and the values of the folded form, against full evaluation.
#include <algorithm>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/random/random_rings.h"

int main(int argc, char** argv) {
  using namespace planproof;
  CLI::App app("Random rings, every second one with a fault");
  int count = 1000, samples = 6;
  uint64_t seed = 1;
  bool verbose = false, text = false, values = false;
  app.add_option("--count", count, "Rings");
  app.add_option("--seed", seed, "Of the first ring; odd seeds make wrong ones");
  app.add_option("--samples", samples, "Inputs at which each is evaluated");
  app.add_flag("--values", values, "Only compare values; verify none");
  app.add_flag("--verbose", verbose, "List every ring");
  app.add_flag("--text", text, "Print the plan files, too");
  CLI11_PARSE(app, argc, argv);
  random_tests::RingSummary summary;
  double slowest = 0;
  for (int k = 0; k < count; ++k) {
    const random_tests::RandomRing ring =
        random_tests::MakeRandomRing(seed + k, (seed + k) % 2 == 1);
    const random_tests::RingTrial trial = random_tests::TryRandomRing(ring, samples, !values);
    summary.Add(trial);
    slowest = std::max(slowest, trial.verify_seconds);
    if (!verbose && !trial.FalseProof() && trial.difference.empty()) continue;
    std::cout << (trial.FalseProof() ? "FALSE PROVED: " : "") << "seed " << ring.seed << ", "
              << ring.ranks << " ranks, " << (trial.folded ? "folded, " : "")
              << (trial.equal ? "equal, " : "different, ") << stages::VerdictName(trial.verdict)
              << ": " << ring.steps << (ring.fault.empty() ? "" : "; fault: ") << ring.fault
              << "\n  " << trial.reason << "\n  " << trial.example << "\n  " << trial.difference
              << std::endl;
    if (text) std::cout << ring.text << "\n";
  }
  std::cout << summary.Table() << "slowest verification " << slowest << " s\n";
  return summary.false_proofs + summary.differences > 0 ? 1 : 0;
}
