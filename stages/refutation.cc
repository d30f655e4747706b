#include "stages/refutation.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shape_reduction/focused_search.h"
#include "shape_reduction/replay.h"
#include "shape_reduction/witness.h"
#include "stages/describe.h"
#include "stages/diagnosis.h"
#include "stages/experiments.h"

namespace planproof::stages {

using shape_reduction::Witness;

namespace {

constexpr double kSearchSeconds = 20;
constexpr double kExplainSeconds = 6;
constexpr int kSearchAttempts = 48;
constexpr double kSampleSeconds = 15;
constexpr int kSampleAttempts = 16;
constexpr size_t kMaxFaults = 8;
constexpr size_t kManyOperators = 8;
constexpr size_t kMostListed = 64;
constexpr size_t kMaxFocuses = 4;
constexpr size_t kLargeGraph = 4000;  // operators
constexpr int64_t kLongDimension = 1024;
constexpr double kLargeSearchSeconds = 5;
constexpr double kConfirmSeconds = 60;  // of many operators: one evaluation takes seconds
constexpr double kUndefinedSeconds = 8;
constexpr int kUndefinedAttempts = 12;

std::string Enclosure(const std::string& text, double low, double high) {
  if (!text.empty()) return text;
  return low == high ? absl::StrCat(low) : absl::StrCat("[", low, ", ", high, "]");
}

std::string OperatorName(const sdfg::Operator& op) {
  std::string name = op.label.empty() ? op.name : absl::StrCat(op.name, " (", op.label, ")");
  for (const auto& [key, value] : op.attributes) {
    if (key == "ranks") absl::StrAppend(&name, " of ranks ", value);
    if (key == "at" && op.name == kException) absl::StrAppend(&name, " at ", value);
  }
  return name;
}

void FillWitness(const lineage::Problem& problem, const Witness& witness, Violation* v) {
  const lineage::RequiredRelation& relation = problem.required[witness.required];
  v->witness_logical = Enclosure(witness.logical_value, witness.logical_low, witness.logical_high);
  v->witness_parallel =
      Enclosure(witness.parallel_value, witness.parallel_low, witness.parallel_high);
  v->witness_inputs = witness.inputs;
  absl::StrAppend(&v->message, v->message.empty() ? "" : "; ", relation.what, " at [",
                  absl::StrJoin(witness.parallel_index, ", "), "]: logical ", v->witness_logical,
                  ", parallel ", v->witness_parallel);
  if (witness.undefined.tensor != sdfg::kNone) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[witness.undefined.tensor];
    absl::StrAppend(&v->message, ": ", shape_reduction::InWords(witness.undefined.by), " in ",
                    problem.parallel.Describe(tensor.producer));
  }
  absl::StrAppend(&v->message, " (enclosures at ", witness.precision, " bits)");
}

// The plan has no value: the operator that gives none, unless a difference before it is the cause.
Violation OfUndefined(const lineage::Problem& problem, const Witness& witness) {
  Violation v;
  v.verdict = Verdict::kRefuted;
  v.kind = "value undefined";
  Claim claim;
  claim.parallel = witness.undefined.tensor;
  const bool known = static_cast<size_t>(claim.parallel) < problem.lineage.size() &&
                     problem.lineage[claim.parallel].kind == lineage::LineageKind::kFull;
  claim.target =
      known ? problem.lineage[claim.parallel] : problem.required[witness.required].lineage;
  DescribePlace(problem, claim, &v);
  v.cause = absl::StrCat("undefined: ", shape_reduction::InWords(witness.undefined.by));
  return v;
}

Violation OfFault(const lineage::Problem& problem, const Fault& fault) {
  Violation v;
  v.verdict = Verdict::kRefuted;
  v.kind = "value differs";
  Claim claim;
  claim.parallel = fault.tensors[0];
  claim.target = fault.lineages[0];
  DescribePlace(problem, claim, &v);
  v.parallel_operators.clear();
  // Where single ranks do otherwise stands among many operators, that comes first.
  std::vector<sdfg::OperatorId> operators = fault.operators;
  if (operators.size() > kManyOperators) {
    std::stable_partition(operators.begin(), operators.end(), [&](sdfg::OperatorId op) {
      return problem.parallel.operators[op].name == kException;
    });
  }
  if (operators.size() > kMostListed) operators.resize(kMostListed);
  for (sdfg::OperatorId op : operators) {
    const std::string name = OperatorName(problem.parallel.operators[op]);
    if (std::find(v.parallel_operators.begin(), v.parallel_operators.end(), name) ==
        v.parallel_operators.end()) {
      v.parallel_operators.push_back(name);
    }
  }
  v.devices = fault.devices;
  v.microbatches = fault.microbatches;
  v.cause = fault.cause;
  v.message = fault.example;
  return v;
}

std::vector<shape_reduction::Focus> FocusesOf(const lineage::Problem& problem,
                                              const ClaimTable& table,
                                              const std::vector<ClaimOutcome>& outcomes) {
  std::vector<shape_reduction::Focus> focuses;
  for (int c : FailedClaims(problem, table, outcomes)) {
    if (focuses.size() == kMaxFocuses) break;
    focuses.push_back({table.claims()[c].parallel, table.claims()[c].target, outcomes[c].box, {}});
    for (sdfg::TensorId id : outcomes[c].mentioned) {
      const bool known = id >= 0 && static_cast<size_t>(id) < problem.logical.tensors.size();
      if (known) focuses.back().mentioned.push_back(id);
    }
    // A claim given up has no difference: what single ranks make of it instead may be one.
    if (focuses.back().mentioned.empty()) {
      focuses.back().mentioned = SuspectOperands(problem, table.claims()[c].parallel);
    }
  }
  return focuses;
}

// What is known where nothing but the output is seen to differ: the earliest claim that was not
// shown, or else the output, and the exceptions of single ranks in its stage.
Violation OfClaim(const lineage::Problem& problem, const Witness& witness, const ClaimTable& table,
                  const std::vector<ClaimOutcome>& outcomes) {
  Violation v;
  v.verdict = Verdict::kRefuted;
  v.kind = "value differs";
  Claim claim;
  claim.parallel = problem.required[witness.required].parallel;
  claim.target = problem.required[witness.required].lineage;
  const std::vector<int> failed = FailedClaims(problem, table, outcomes);
  if (!failed.empty()) {
    claim = table.claims()[failed[0]];
    v.message = outcomes[failed[0]].reason;
  }
  DescribePlace(problem, claim, &v);
  const Fault suspect = SuspectExceptions(problem, claim.parallel);
  if (suspect.operators.empty()) return v;
  std::vector<std::string> names;
  for (sdfg::OperatorId op : suspect.operators) {
    if (names.size() < kMostListed) {
      names.push_back(OperatorName(problem.parallel.operators[op]));
    }
  }
  v.parallel_operators.insert(v.parallel_operators.begin(), names.begin(), names.end());
  v.devices = suspect.devices;
  if (!suspect.microbatches.empty()) v.microbatches = suspect.microbatches;
  return v;
}

// Some tensor has a long dimension twice (attention scores): cut at every position it is too large.
bool ComparesLongDimensions(const sdfg::Graph& graph) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const sdfg::Tensor& tensor) {
    for (size_t a = 0; a < tensor.shape.size(); ++a) {
      for (size_t b = a + 1; b < tensor.shape.size(); ++b) {
        if (tensor.shape[a] == tensor.shape[b] && tensor.shape[a] >= kLongDimension) return true;
      }
    }
    return false;
  });
}

// In large graphs, first where claims failed; in small ones, that comes last.
Witness FindWitness(const lineage::Problem& problem, const ClaimTable& table,
                    const std::vector<ClaimOutcome>& outcomes,
                    const shape_reduction::WitnessOptions& search, double stage_timeout_s) {
  const auto focused = [&] {
    return shape_reduction::SearchFocused(problem, FocusesOf(problem, table, outcomes), search);
  };
  const bool large =
      problem.parallel.operators.size() > kLargeGraph || ComparesLongDimensions(problem.logical);
  shape_reduction::WitnessOptions everywhere = search;
  if (large) {
    Witness witness = focused();
    if (witness.outcome == Witness::Outcome::kConfirmed) return witness;
    everywhere.time_budget_s = std::min(everywhere.time_budget_s, kLargeSearchSeconds);
  }
  Witness witness = shape_reduction::SearchWitness(problem, everywhere);
  if (large && witness.outcome == Witness::Outcome::kUnconfirmed) {
    // It differs in doubles: confirming that is worth the time.
    everywhere.time_budget_s = std::min(kConfirmSeconds, stage_timeout_s);
    witness = shape_reduction::SearchWitness(problem, everywhere);
  }
  if (large || witness.outcome == Witness::Outcome::kConfirmed) return witness;
  Witness last = focused();
  return last.outcome == Witness::Outcome::kConfirmed ? last : witness;
}

// The violations of a confirmed difference, the first where the plan first goes wrong. Where all
// values that the plan has are right, there is nothing to diagnose.
void Report(const lineage::Problem& problem, const ClaimTable& table,
            const std::vector<ClaimOutcome>& outcomes, const Witness& witness, bool values_right,
            Result* result) {
  std::vector<Violation> found;
  if (!values_right) {
    for (const Fault& fault : Diagnose(problem, witness, kMaxFaults, kExplainSeconds)) {
      found.push_back(OfFault(problem, fault));
    }
  }
  if (found.empty() && witness.undefined.tensor != sdfg::kNone) {
    found.push_back(OfUndefined(problem, witness));
  }
  if (found.empty()) found.push_back(OfClaim(problem, witness, table, outcomes));
  FillWitness(problem, witness, &found[0]);
  for (Violation& v : found) result->violations.push_back(std::move(v));
}

}  // namespace

bool Refute(const lineage::Problem& problem, const VerifyOptions& options, const ClaimTable& table,
            const std::vector<ClaimOutcome>& outcomes, Result* result, bool* undefined_seen) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kSearchSeconds, options.stage_timeout_s);
  search.attempts = kSearchAttempts;
  search.localise = false;
  for (size_t c = 0; c < outcomes.size(); ++c) {
    if (outcomes[c].status == ClaimStatus::kProved && !outcomes[c].unsatisfiable) continue;
    search.suspects.push_back(table.claims()[c].parallel);
  }
  const Witness witness = FindWitness(problem, table, outcomes, search, options.stage_timeout_s);
  *undefined_seen = witness.undefined_seen;
  if (witness.outcome != Witness::Outcome::kConfirmed) {
    if (witness.outcome != Witness::Outcome::kNone) {
      result->warnings.push_back(
          absl::StrCat(witness.outcome == Witness::Outcome::kUnconfirmed
                           ? "doubles differ on some inputs, but intervals did not confirm it"
                           : "no search for a counterexample",
                       witness.message.empty() ? "" : ": ", witness.message));
    } else if (witness.attempts == 0) {
      result->warnings.push_back(absl::StrCat(
          "no inputs were compared", witness.message.empty() ? "" : ": ", witness.message));
    }
    return false;
  }
  Report(problem, table, outcomes, witness, /*values_right=*/false, result);
  return true;
}

bool RefuteUndefined(const lineage::Problem& problem, const VerifyOptions& options,
                     const ClaimTable& table, const std::vector<ClaimOutcome>& outcomes,
                     const std::vector<bool>& shown, Result* result) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kUndefinedSeconds, options.stage_timeout_s);
  search.attempts = kUndefinedAttempts;
  search.localise = false;
  search.undefined_counts = true;
  std::set<sdfg::TensorId> suspects;
  for (size_t c = 0; c < shown.size(); ++c) {
    if (!shown[c]) suspects.insert(table.claims()[c].parallel);
  }
  search.suspects.assign(suspects.begin(), suspects.end());
  for (size_t c = 0; c < shown.size(); ++c) {
    const sdfg::TensorId id = table.claims()[c].parallel;
    if (suspects.count(id) == 0) search.proved.push_back(id);
  }
  const Witness witness = shape_reduction::SearchWitness(problem, search);
  if (witness.outcome != Witness::Outcome::kConfirmed) return false;
  const bool values_right = std::all_of(
      outcomes.begin(), outcomes.end(),
      [](const ClaimOutcome& outcome) { return outcome.status == ClaimStatus::kProved; });
  Report(problem, table, outcomes, witness, values_right, result);
  return true;
}

bool HasFiniteSample(const lineage::Problem& problem, Result* result) {
  using Outcome = shape_reduction::Sample::Outcome;
  const shape_reduction::Sample sample =
      shape_reduction::FindSample(problem, kSampleAttempts, kSampleSeconds);
  if (sample.outcome == Outcome::kFound) return true;
  Violation v;
  v.verdict = Verdict::kUnknown;
  v.kind = "premises have no common sample";
  v.message = absl::StrCat(
      sample.outcome == Outcome::kExhausted
          ? "every claim is shown, but whether the premises can hold together was not tested"
          : "every claim is shown, but no inputs were found for which all premises hold and all "
            "required outputs are finite",
      sample.message.empty() ? "" : ": ", sample.message);
  result->violations.push_back(std::move(v));
  return false;
}

}  // namespace planproof::stages
