// Every strategy and pair of strategies at small size: verdict, numbers of both graphs, and random
// single-fault mutants; the counts go to docs/generator.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <map>
#include <set>
#include <string>

#include "inference/relation_inference.h"
#include "mutation/mutate.h"
#include "strategy/verify.h"
#include "tests/models/numbers.h"
#include "tests/models/strategy_cases.h"

namespace planproof::generator {
namespace {

struct Options {
  std::string only;
  int mutants = 50;
  int first = 1;
  int shift = 0;
  int skip = 0;
  bool list = false;
  bool discard_lineage = false;
  std::string csv = "/dev/null";
};

struct Counts {
  std::map<stages::Verdict, int> verdicts;
  int false_proofs = 0;
  int named = 0;  // wrong plans whose first line names the operator that was changed, or a reader

  int Of(stages::Verdict verdict) const {
    const auto found = verdicts.find(verdict);
    return found == verdicts.end() ? 0 : found->second;
  }
};

// Without what the plan says of its tensors, if that is asked for.
stages::Result Verify(lineage::Problem problem, const Options& options) {
  const inference::RelationInference inference;
  stages::VerifyOptions verify;
  if (options.discard_lineage) {
    inference::DiscardLineage(&problem);
    verify.inference = &inference;
  }
  return strategy::Verify(problem, verify);
}

// What the first line of the report says; of a plan that states its lineage, also the operators of
// the stage.
std::string FirstFinding(const stages::Result& result) {
  if (result.violations.empty()) return "";
  const stages::Violation& first = result.violations[0];
  std::string text = first.stage + ": " + first.cause;
  if (result.inference.used) {
    const auto& end = result.inference.end;
    if (!first.cause.empty()) return text;
    return text + "; " + end.logical_operator + "; " + end.nearest + " " + end.difference;
  }
  if (first.cause.empty()) text += first.message;
  for (const std::string& op : first.parallel_operators) text += " " + op;
  return text;
}

// Whether that names one of the operators that were changed, by its label, or one that reads what
// they compute; `plan` is the plan before the change.
bool NamesIt(const lineage::Problem& plan, const mutation::Mutation& changed,
             const std::string& finding) {
  const sdfg::Graph& graph = plan.parallel;
  std::set<sdfg::TensorId> outputs;
  std::set<std::string> names;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const std::string name = graph.Describe(static_cast<sdfg::OperatorId>(o));
    const sdfg::Operator& op = graph.operators[o];
    if (std::find(changed.operators.begin(), changed.operators.end(), name) ==
        changed.operators.end()) {
      continue;
    }
    names.insert(op.label);
    outputs.insert(op.outputs.begin(), op.outputs.end());
  }
  for (const sdfg::Operator& op : graph.operators) {
    for (const sdfg::TensorId input : op.inputs) {
      if (outputs.count(input) != 0) names.insert(op.label);
    }
  }
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return !name.empty() && finding.find(name) != std::string::npos;
  });
}

// Changes one place of the plan at a time.
Counts TryMutants(const StrategyCase& made, const lineage::Problem& problem, const Options& options,
                  int first, std::ofstream& csv) {
  Counts counts;
  for (int seed = first; seed < first + options.mutants; ++seed) {
    lineage::Problem mutant = problem;
    const auto changed = mutation::Mutate(mutant, "random", static_cast<uint64_t>(seed));
    if (!changed.ok()) continue;
    if (options.list) {
      std::printf("%s %d: %s\n", made.name.c_str(), seed, changed->what.c_str());
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    const stages::Result result = Verify(mutant, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    ++counts.verdicts[result.verdict];
    const std::string finding = FirstFinding(result);
    const bool named =
        result.verdict != stages::Verdict::kProved && NamesIt(problem, *changed, finding);
    counts.named += named ? 1 : 0;
    std::string numbers;
    if (result.verdict == stages::Verdict::kProved) {
      const auto difference = DifferenceInNumbers(mutant, static_cast<uint64_t>(seed));
      numbers = difference.ok() ? *difference : difference.status().ToString();
      if (!numbers.empty()) ++counts.false_proofs;
    }
    csv << made.name << "," << seed << "," << stages::VerdictName(result.verdict) << ",\""
        << changed->what << "\",\"" << numbers << "\"," << taken.count() << "," << named << ","
        << std::quoted(finding.substr(0, 300)) << std::endl;
  }
  return counts;
}

int Run(const Options& options) {
  std::ofstream csv(options.csv);
  csv << "case,seed,verdict,what,numbers,seconds,named,finding\n";
  int failed = 0, unknown = 0, count = 0, false_proofs = 0, cases = 0;
  int most_unknown = 0;  // of one case
  for (const StrategyCase& made : StrategyCases()) {
    if (made.name.find(options.only) == std::string::npos) continue;
    const int first = options.first + options.shift * cases++;
    if (cases <= options.skip) continue;  // judged by a run before this one
    const auto problem = ProblemOf(made);
    if (!problem.ok()) {
      std::printf("%-36s %s\n", made.name.c_str(), problem.status().ToString().c_str());
      ++failed;
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    const stages::Result result = Verify(*problem, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const auto numbers = CompareInNumbers(*problem, 1);
    const bool right = result.verdict == stages::Verdict::kProved && numbers.ok() &&
                       numbers->different.empty() &&
                       result.operators.covered == result.operators.parallel;
    failed += right ? 0 : 1;
    const Counts counts = right ? TryMutants(made, *problem, options, first, csv) : Counts();
    using V = stages::Verdict;
    std::printf(
        "%-36s %s, numbers %s; mutants: %d proved, %d refuted, %d malformed, %d unknown, "
        "%d named",
        made.name.c_str(), stages::VerdictName(result.verdict),
        !numbers.ok()                ? numbers.status().ToString().c_str()
        : numbers->different.empty() ? "agree"
                                     : numbers->different.c_str(),
        counts.Of(V::kProved), counts.Of(V::kRefuted), counts.Of(V::kMalformed),
        counts.Of(V::kUnknown), counts.named);
    std::printf("%s", counts.false_proofs > 0 ? ", FALSE PROVED" : "");
    if (numbers.ok() && std::isfinite(numbers->margin)) {
      std::printf("; gate margin %.1e, seed %d", numbers->margin, static_cast<int>(numbers->seed));
    }
    if (options.discard_lineage) {
      std::printf("; %.2f s, %d of %d tensors inferred, %d proved", taken.count(),
                  static_cast<int>(result.inference.inferred),
                  static_cast<int>(result.inference.tensors),
                  static_cast<int>(result.inference.proved));
    }
    std::printf("\n");
    std::fflush(stdout);
    unknown += counts.Of(V::kUnknown);
    most_unknown = std::max(most_unknown, counts.Of(V::kUnknown));
    false_proofs += counts.false_proofs;
    for (const auto& [verdict, n] : counts.verdicts) count += n;
  }
  std::printf(
      "%d cases, %d not as they should be; %d mutants, %d unknown (at most %d of a case), %d "
      "falsely "
      "proved\n",
      cases - std::min(options.skip, cases), failed, count, unknown, most_unknown, false_proofs);
  return failed > 0 || false_proofs > 0 ? 1 : 0;
}

}  // namespace
}  // namespace planproof::generator

int main(int argc, char** argv) {
  CLI::App app{"Generated plans of every strategy, and mutants of them"};
  planproof::generator::Options options;
  app.add_option("--only", options.only, "Cases whose name contains this");
  app.add_option("--mutants", options.mutants, "Mutants of each case")->capture_default_str();
  app.add_option("--first", options.first, "Seed of the first mutant")->capture_default_str();
  app.add_option("--shift", options.shift, "Added to the first seed with every case")
      ->capture_default_str();
  app.add_option("--skip", options.skip,
                 "Cases at the start that are left out; the others keep their seeds");
  app.add_flag("--discard-lineage", options.discard_lineage,
               "Forget what plans say of computed tensors, and infer it");
  app.add_flag("--list", options.list, "Say what the mutants change, judge none");
  app.add_option("--csv", options.csv, "File for one row per mutant");
  CLI11_PARSE(app, argc, argv);
  return planproof::generator::Run(options);
}
