#include "stages/diagnosis/explanation.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "stages/describe.h"
#include "stages/diagnosis/diagnosis.h"
#include "stages/diagnosis/repair_search.h"

namespace planproof::stages {

using shape_reduction::Witness;

namespace {

constexpr double kExplainSeconds = 6;
constexpr size_t kMaxFaults = 8;
constexpr size_t kManyOperators = 8;
constexpr size_t kMaxListedOperators = 64;

std::string Enclosure(const std::string& text, double low, double high) {
  if (!text.empty()) return text;
  return low == high ? absl::StrCat(low) : absl::StrCat("[", low, ", ", high, "]");
}

// The middle of the enclosures, in as many digits as tell them apart.
std::pair<std::string, std::string> FewDigits(const Witness& witness) {
  const double logical = witness.logical_low / 2 + witness.logical_high / 2;
  const double parallel = witness.parallel_low / 2 + witness.parallel_high / 2;
  for (const int digits : {6, 9, 17}) {
    std::string a = absl::StrFormat("%.*g", digits, logical);
    std::string b = absl::StrFormat("%.*g", digits, parallel);
    if (a != b || digits == 17) return {std::move(a), std::move(b)};
  }
  return {};
}

std::string OperatorName(const sdfg::Graph& graph, const sdfg::Operator& op) {
  std::string name = op.label.empty() ? op.name : absl::StrCat(op.name, " (", op.label, ")");
  if (!op.group.empty()) absl::StrAppend(&name, " of ranks ", absl::StrJoin(op.group, ","));
  if (!op.override_at.empty()) absl::StrAppend(&name, " at ", graph.Describe(op.override_at));
  return name;
}

void FillWitness(const lineage::Problem& problem, const Witness& witness, Violation* v) {
  const lineage::RequiredRelation& relation = problem.required[witness.required];
  v->witness_place = DescribeElement(problem.parallel, relation.parallel, witness.parallel_index);
  v->witness_logical = Enclosure(witness.logical_value, witness.logical_low, witness.logical_high);
  v->witness_parallel =
      Enclosure(witness.parallel_value, witness.parallel_low, witness.parallel_high);
  std::tie(v->witness_logical_short, v->witness_parallel_short) = FewDigits(witness);
  v->witness_precision = witness.precision;
  v->witness_inputs = witness.inputs;
  v->witness_example = witness.example;
  if (witness.undefined.tensor != sdfg::kNone) {
    v->witness_parallel_short = v->witness_parallel;
    const sdfg::Tensor& tensor = problem.parallel.tensors[witness.undefined.tensor];
    absl::StrAppend(&v->message, v->message.empty() ? "" : "; ",
                    shape_reduction::InWords(witness.undefined.by), " in ",
                    problem.parallel.Describe(tensor.producer));
  }
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
      return problem.parallel.operators[op].kind == sdfg::OperatorKind::kRankOverride;
    });
  }
  if (operators.size() > kMaxListedOperators) operators.resize(kMaxListedOperators);
  for (sdfg::OperatorId op : operators) {
    const std::string name = OperatorName(problem.parallel, problem.parallel.operators[op]);
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

// What is known where nothing but the output is seen to differ: the earliest claim that was not
// shown, or else the output, and, if that is asked, the exceptions of single ranks in its stage.
Violation OfClaim(const lineage::Problem& problem, const Witness& witness, const ClaimTable& table,
                  const std::vector<ClaimOutcome>& outcomes, bool exceptions) {
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
  if (!exceptions) return v;
  const Fault suspect = SuspectExceptions(problem, claim.parallel);
  if (suspect.operators.empty()) return v;
  std::vector<std::string> names;
  for (sdfg::OperatorId op : suspect.operators) {
    if (names.size() < kMaxListedOperators) {
      names.push_back(OperatorName(problem.parallel, problem.parallel.operators[op]));
    }
  }
  v.parallel_operators.insert(v.parallel_operators.begin(), names.begin(), names.end());
  v.devices = suspect.devices;
  if (!suspect.microbatches.empty()) v.microbatches = suspect.microbatches;
  return v;
}

}  // namespace

std::vector<Violation> Explain(const lineage::Problem& problem, const ClaimTable& table,
                               const std::vector<ClaimOutcome>& outcomes, const Witness& witness,
                               bool values_right) {
  std::vector<Violation> found;
  if (!values_right) {
    for (const Fault& fault : Diagnose(problem, witness, kMaxFaults, kExplainSeconds)) {
      found.push_back(OfFault(problem, fault));
      // The witness is an element of this tensor itself.
      const bool first = found.size() == 1;
      if (first && fault.tensors[0] == problem.required[witness.required].parallel) {
        found[0].message.clear();
      }
    }
  }
  if (found.empty() && witness.undefined.tensor != sdfg::kNone) {
    found.push_back(OfUndefined(problem, witness));
  }
  if (found.empty()) {
    found.push_back(OfClaim(problem, witness, table, outcomes, /*exceptions=*/true));
  }
  FillWitness(problem, witness, &found[0]);
  return found;
}

std::vector<Violation> WithoutExplanation(const lineage::Problem& problem, const ClaimTable& table,
                                          const std::vector<ClaimOutcome>& outcomes,
                                          const Witness& witness) {
  Violation v = witness.undefined.tensor != sdfg::kNone
                    ? OfUndefined(problem, witness)
                    : OfClaim(problem, witness, table, outcomes, /*exceptions=*/false);
  FillWitness(problem, witness, &v);
  return {std::move(v)};
}

}  // namespace planproof::stages
