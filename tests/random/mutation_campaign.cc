// Random single-fault mutants, or perturbations, of one plan; the counts go to
// docs/random-suites.md.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_replace.h"
#include "tests/random/mutant_trials.h"
#include "tests/random/perturbation.h"

namespace planproof::random_tests {
namespace {

std::string Quoted(const std::string& text) {
  return "\"" + absl::StrReplaceAll(text, {{"\"", "'"}, {"\n", " "}}) + "\"";
}

int RunMutants(const PlanPair& pair, int count, uint64_t seed, std::ostream& csv) {
  MutantTrials trials(pair, {});
  const absl::StatusOr<MutantTrial> unchanged = trials.Unchanged();
  if (!unchanged.ok() || unchanged->verdict != stages::Verdict::kProved ||
      unchanged->twin != TwinVerdict::kEqual) {
    std::cerr << "the unchanged plan is not proved and equal: "
              << (unchanged.ok() ? unchanged->reason + " " + unchanged->twin_difference
                                 : std::string(unchanged.status().message()))
              << "\n";
    return 2;
  }
  std::cout << unchanged->twin_samples << " samples of the twin are finite" << std::endl;
  csv << "pair,seed,kind,verdict,twin,full,verify_s,judge_s,what,reason\n";
  MutantSummary summary;
  double slowest = 0, total = 0;
  for (int k = 0; k < count; ++k) {
    const absl::StatusOr<MutantTrial> trial = trials.Try(seed + k);
    if (!trial.ok()) {
      std::cerr << trial.status() << "\n";
      return 2;
    }
    summary.Add(*trial);
    slowest = std::max(slowest, trial->verify_seconds);
    total += trial->verify_seconds;
    csv << pair.name << "," << trial->seed << "," << trial->kind << ","
        << stages::VerdictName(trial->verdict) << "," << TwinVerdictName(trial->twin) << ","
        << (!trial->full_judged     ? ""
            : trial->full_equal     ? "equal"
            : trial->full_different ? "different"
                                    : "undecided")
        << "," << trial->verify_seconds << "," << trial->judge_seconds << "," << Quoted(trial->what)
        << "," << Quoted(trial->reason) << std::endl;
    if (trial->FalseProof()) {
      std::cout << "FALSE PROVED: " << pair.name << " seed " << trial->seed << ": " << trial->what
                << "\n  twin: " << TwinVerdictName(trial->twin) << " " << trial->twin_difference
                << "\n  full plan: "
                << (trial->full_different ? "different"
                    : trial->full_equal   ? "equal"
                                          : "undecided")
                << std::endl;
    }
    if (trial->DoubtfulRefutation()) {
      std::cout << "refuted, but the twin's samples agree: " << pair.name << " seed " << trial->seed
                << ": " << trial->what << "\n  " << trial->reason << std::endl;
    }
  }
  std::cout << pair.name << ": " << summary.count << " mutants from seed " << seed
            << ", twin extents " << pair.factors << "\n"
            << summary.Table() << "false PROVED: " << summary.false_proofs
            << ", refuted with an equal twin: " << summary.doubtful_refutations << ", verification "
            << total << " s in all, " << slowest << " s at most\n";
  return summary.false_proofs > 0 ? 1 : 0;
}

int RunPerturbations(const PlanPair& pair, int count, bool distinct, std::ostream& csv) {
  std::vector<Place> places = PerturbationPlaces(pair.problem, distinct);
  const size_t all = places.size();
  const size_t step = count > 0 && all > static_cast<size_t>(count) ? all / count : 1;
  Perturbations trials(pair, 20, 20);
  csv << "pair,operator,verdict,numbers,message\n";
  std::map<std::string, int> verdicts;
  int tried = 0, wrong = 0;
  for (size_t k = 0; k < all; k += step) {
    const PerturbationTrial trial = trials.Try(places[k]);
    ++tried;
    ++verdicts[stages::VerdictName(trial.verdict)];
    csv << pair.name << "," << Quoted(trial.what) << "," << stages::VerdictName(trial.verdict)
        << "," << (trial.judged ? trial.numbers_equal ? "equal" : "different" : "") << ","
        << Quoted(trial.difference) << std::endl;
    if (trial.FalseProof()) {
      ++wrong;
      std::cout << "FALSE PROVED: " << pair.name << ", " << trial.what
                << " perturbed: " << trial.difference << std::endl;
    } else if (trial.verdict == stages::Verdict::kProved) {
      std::cout << "no effect: " << trial.what << std::endl;
    } else if (trial.verdict == stages::Verdict::kMalformed) {
      std::cout << "malformed: " << trial.what << ": " << trial.difference << std::endl;
    }
  }
  std::cout << pair.name << ": " << tried << " of " << all << " outputs perturbed";
  for (const auto& [verdict, number] : verdicts) std::cout << ", " << verdict << " " << number;
  std::cout << ", false PROVED " << wrong << "\n";
  return wrong > 0 ? 1 : 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Random single faults, or perturbations, of a plan");
  std::string pair_name, plan, csv_path;
  int count = 100;
  uint64_t seed = 1;
  bool perturb = false, distinct = false;
  app.add_option("--pair", pair_name, "MLP, LLAMA, MOE or GPT: a published pair");
  app.add_option("--plan", plan, "A plan file in JSON with both roles");
  app.add_option("--count", count, "Mutants, or perturbed outputs at most (0: all)");
  app.add_option("--seed", seed, "Of the first mutant");
  app.add_option("--csv", csv_path, "One line per mutant");
  app.add_flag("--perturb", perturb, "Add a fresh symbol to every operator's output in turn");
  app.add_flag("--distinct", distinct, "Only one operator per function and logical tensor");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<PlanPair> pair =
      plan.empty() ? LoadPublished(pair_name) : LoadPlanFile(plan);
  if (!pair.ok()) {
    std::cerr << pair.status() << "\n";
    return 2;
  }
  std::ofstream csv(csv_path.empty() ? "/dev/null" : csv_path);
  return perturb ? RunPerturbations(*pair, count, distinct, csv)
                 : RunMutants(*pair, count, seed, csv);
}

}  // namespace
}  // namespace planproof::random_tests

int main(int argc, char** argv) { return planproof::random_tests::Main(argc, argv); }
