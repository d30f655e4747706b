// Random deviations of single operator instances of one plan: verdict, what is named, and the time
// of each against that of the proof.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_replace.h"
#include "tests/random/deviations.h"

namespace planproof::random_tests {
namespace {

std::string Quoted(const std::string& text) {
  return "\"" + absl::StrReplaceAll(text, {{"\"", "'"}, {"\n", " "}}) + "\"";
}

int Run(const std::vector<std::string>& files, int count, uint64_t seed, int proofs, double most,
        const std::string& csv_path) {
  const std::filesystem::path scratch =
      std::filesystem::temp_directory_path() / ("deviation-" + std::to_string(::getpid()));
  DeviationTrials trials(files, scratch.string());
  std::ofstream csv;
  if (!csv_path.empty()) csv.open(csv_path);
  csv << "seed,kind,verdict,operator,rank,devices,seconds,ratio,what,finding\n";
  int passed = 0, slow = 0;
  double slowest = 0;
  for (int k = 0; k < count; ++k) {
    // The proof just before, since other work on the machine changes all times.
    const absl::StatusOr<double> proof =
        proofs > 0 ? trials.ProofSeconds(proofs) : std::numeric_limits<double>::infinity();
    if (!proof.ok()) {
      std::cerr << proof.status() << "\n";
      return 2;
    }
    const absl::StatusOr<DeviationTrial> trial = trials.Try(seed + static_cast<uint64_t>(k));
    if (!trial.ok()) {
      std::cerr << trial.status() << "\n";
      std::filesystem::remove(scratch);
      return 2;
    }
    const double ratio = trial->seconds / *proof;
    passed += trial->Passed();
    slow += ratio > most;
    slowest = std::max(slowest, ratio);
    std::printf("%s %-9s %.2f s, proof %.2f s (%.1fx) %s%s %s\n    %s\n",
                trial->Passed() ? "ok  " : "FAIL", stages::VerdictName(trial->verdict),
                trial->seconds, *proof, ratio, trial->operator_named ? "" : "operator not named ",
                trial->rank_named ? "" : "rank not named", trial->deviation.what.c_str(),
                trial->finding.substr(0, 300).c_str());
    std::fflush(stdout);
    csv << trial->seed << "," << trial->deviation.kind << "," << stages::VerdictName(trial->verdict)
        << "," << trial->operator_named << "," << trial->rank_named << "," << trial->devices << ","
        << trial->seconds << "," << ratio << "," << Quoted(trial->deviation.what) << ","
        << Quoted(trial->finding) << std::endl;
  }
  std::filesystem::remove(scratch);
  std::printf(
      "%d of %d found with operator and rank; %d above %.1f times the proof, at most %.1f\n",
      passed, count, slow, most, slowest);
  return passed == count && slow == 0 ? 0 : 1;
}

}  // namespace
}  // namespace planproof::random_tests

int main(int argc, char** argv) {
  CLI::App app("Random deviations of single operator instances of a plan");
  std::vector<std::string> files;
  int count = 20, proofs = 3;
  uint64_t seed = 1;
  double most = 3;
  std::string csv;
  app.add_option("PLAN", files, "One plan file, or LOGICAL PARALLEL")->required()->expected(1, 2);
  app.add_option("--count", count, "How many");
  app.add_option("--seed", seed, "The first seed; the others follow");
  app.add_option("--proofs", proofs,
                 "Proofs before each, of which the median counts; 0: times are not compared");
  app.add_option("--most", most, "Largest time allowed, as a multiple of the proof's");
  app.add_option("--csv", csv, "File for one line per deviation");
  CLI11_PARSE(app, argc, argv);
  return planproof::random_tests::Run(files, count, seed, proofs, most, csv);
}
