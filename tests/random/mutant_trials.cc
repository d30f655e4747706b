#include "tests/random/mutant_trials.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mutation/mutate.h"
#include "sdfg/index_function_check.h"
#include "shape_reduction/witness.h"

namespace planproof::random_tests {
namespace {

using Clock = std::chrono::steady_clock;
using stages::Verdict;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The text with every number as '#': faults in plan and twin differ in extents only.
std::string WithoutNumbers(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

absl::Status CheckAll(sdfg::Graph* graph) {
  if (absl::Status status = graph->Check(); !status.ok()) return status;
  std::set<const sdfg::IndexFunction*> seen;
  for (const sdfg::Operator& op : graph->operators) {
    if (!seen.insert(op.function.get()).second) continue;
    if (absl::Status status = sdfg::CheckIndexFunction(*op.function); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool Alike(const mutation::Mutation& a, const mutation::Mutation& b) {
  return a.kind == b.kind && a.operators == b.operators && a.devices == b.devices &&
         WithoutNumbers(a.what) == WithoutNumbers(b.what);
}

}  // namespace

const char* TwinVerdictName(TwinVerdict verdict) {
  switch (verdict) {
    case TwinVerdict::kEqual:
      return "equal";
    case TwinVerdict::kDifferent:
      return "different";
    case TwinVerdict::kUndefined:
      return "undefined";
    case TwinVerdict::kNotAlike:
      return "not alike";
    case TwinVerdict::kMalformed:
      return "malformed";
  }
  return "";
}

MutantTrials::MutantTrials(const PlanPair& pair, const MutantOptions& options)
    : pair_(pair),
      options_(options),
      judge_(pair.twin, options.samples, pair.id_range, options.judge_seed) {}

void MutantTrials::Decide(lineage::Problem* problem, MutantTrial* trial) const {
  const auto start = Clock::now();
  // A reader checks the graph and every function before it hands them over.
  if (const absl::Status status = CheckAll(&problem->parallel); !status.ok()) {
    trial->verdict = Verdict::kMalformed;
    trial->reason = std::string(status.message());
    trial->twin = TwinVerdict::kMalformed;
    trial->verify_seconds = Since(start);
    return;
  }
  stages::VerifyOptions options;
  options.jobs = 1;
  options.stage_timeout_s = options_.timeout_s;
  const stages::Result result = strategy::Verify(*problem, options);
  trial->verdict = result.verdict;
  if (!result.violations.empty()) trial->reason = result.violations[0].message;
  trial->verify_seconds = Since(start);
}

// What is proved must be equal on the full plan too; the rest only if the twin says nothing.
void MutantTrials::JudgeFull(const lineage::Problem& problem, MutantTrial* trial) const {
  const bool silent = trial->verdict == Verdict::kUnknown && trial->twin == TwinVerdict::kNotAlike;
  if (trial->verdict != Verdict::kProved && !silent) return;
  const auto judged = shape_reduction::NumericEqual(problem, options_.full_samples, 17);
  trial->full_judged = true;
  trial->full_equal = judged == shape_reduction::NumericVerdict::kEqual;
  trial->full_different = judged == shape_reduction::NumericVerdict::kDifferent;
}

void MutantTrials::JudgeTwin(lineage::Problem* twin, MutantTrial* trial) {
  if (trial->verdict == Verdict::kMalformed) {
    trial->twin = TwinVerdict::kMalformed;
    return;
  }
  const auto start = Clock::now();
  if (const absl::Status status = CheckAll(&twin->parallel); !status.ok()) {
    trial->twin = TwinVerdict::kUndefined;
    trial->twin_difference = std::string(status.message());
    return;
  }
  const absl::StatusOr<DenseJudgement> judgement = judge_.Judge(*twin);
  if (!judgement.ok()) {
    trial->twin = TwinVerdict::kUndefined;
    trial->twin_difference = std::string(judgement.status().message());
  } else if (judgement->samples == 0) {
    trial->twin = TwinVerdict::kUndefined;
    trial->twin_difference = "no sample is finite";
  } else {
    trial->twin = judgement->equal ? TwinVerdict::kEqual : TwinVerdict::kDifferent;
    trial->twin_difference = judgement->difference;
    trial->twin_samples = judgement->samples;
  }
  trial->judge_seconds = Since(start);
}

absl::StatusOr<MutantTrial> MutantTrials::Unchanged() {
  MutantTrial trial;
  trial.kind = "none";
  lineage::Problem problem = pair_.problem, twin = pair_.twin;
  Decide(&problem, &trial);
  JudgeTwin(&twin, &trial);
  JudgeFull(problem, &trial);
  return trial;
}

absl::StatusOr<MutantTrial> MutantTrials::Try(uint64_t seed) {
  MutantTrial trial;
  trial.seed = seed;
  lineage::Problem problem = pair_.problem;
  const absl::StatusOr<mutation::Mutation> fault = mutation::Mutate(problem, "random", seed);
  if (!fault.ok()) return fault.status();
  trial.kind = fault->kind;
  trial.what = fault->what;
  lineage::Problem twin = pair_.twin;
  const absl::StatusOr<mutation::Mutation> twin_fault = mutation::Mutate(twin, "random", seed);
  const bool alike = twin_fault.ok() && Alike(*fault, *twin_fault);
  Decide(&problem, &trial);
  if (alike) {
    JudgeTwin(&twin, &trial);
  } else if (trial.verdict == Verdict::kMalformed) {
    trial.twin = TwinVerdict::kMalformed;
  } else {
    trial.twin = TwinVerdict::kNotAlike;
  }
  JudgeFull(problem, &trial);
  return trial;
}

void MutantSummary::Add(const MutantTrial& trial) {
  const std::string verdict = stages::VerdictName(trial.verdict);
  ++count;
  ++by_kind[trial.kind][verdict];
  ++by_verdict[verdict];
  std::string twin_verdict = TwinVerdictName(trial.twin);
  if (trial.twin == TwinVerdict::kNotAlike && trial.full_judged) {
    absl::StrAppend(&twin_verdict, ", full plan ",
                    trial.full_equal       ? "equal"
                    : trial.full_different ? "different"
                                           : "undecided");
  }
  ++twin[verdict][twin_verdict];
  false_proofs += trial.FalseProof();
  doubtful_refutations += trial.DoubtfulRefutation();
}

std::string MutantSummary::Table() const {
  static const char* const kVerdicts[] = {"PROVED", "UNKNOWN", "REFUTED", "MALFORMED"};
  std::string text = absl::StrFormat("%-20s", "fault");
  for (const char* verdict : kVerdicts) absl::StrAppendFormat(&text, "%11s", verdict);
  text += "\n";
  const auto row = [&](const std::string& name, const std::map<std::string, int>& counts) {
    absl::StrAppendFormat(&text, "%-20s", name);
    for (const char* verdict : kVerdicts) {
      const auto found = counts.find(verdict);
      absl::StrAppendFormat(&text, "%11d", found == counts.end() ? 0 : found->second);
    }
    text += "\n";
  };
  for (const auto& [kind, counts] : by_kind) row(kind, counts);
  row("all", by_verdict);
  for (const auto& [verdict, counts] : twin) {
    absl::StrAppend(&text, verdict, ", the twin is");
    for (const auto& [name, number] : counts) absl::StrAppend(&text, " ", name, ": ", number, ";");
    text += "\n";
  }
  return text;
}

}  // namespace planproof::random_tests
