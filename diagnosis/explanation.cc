#include "diagnosis/explanation.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "diagnosis/describe.h"
#include "diagnosis/undefined_advice.h"

namespace planproof::diagnosis {

using shape_reduction::Witness;

namespace {

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

stages::Violation Refuted(const char* kind) {
  stages::Violation v;
  v.verdict = stages::Verdict::kRefuted;
  v.kind = kind;
  return v;
}

void FillWitness(const Witness& witness, stages::Violation* v) {
  v->witness_logical = Enclosure(witness.logical_value, witness.logical_low, witness.logical_high);
  v->witness_parallel =
      Enclosure(witness.parallel_value, witness.parallel_low, witness.parallel_high);
  std::tie(v->witness_logical_short, v->witness_parallel_short) = FewDigits(witness);
  v->witness_precision = witness.precision;
  v->witness_inputs = witness.inputs;
  v->witness_example = witness.example;
}

void NameFault(const Fault& fault, stages::Violation* v) {
  v->devices = fault.devices;
  v->microbatches = fault.microbatches;
  v->cause = fault.cause;
  v->cause_of_stage = fault.of_stage_alone;
  v->message = fault.example;
}

// Exceptions of single ranks in the stage.
void NameSuspect(const Fault& suspect, stages::Violation* v) {
  v->cause = suspect.cause;
  v->cause_of_stage = suspect.of_stage_alone;
  if (suspect.devices.empty()) return;
  v->devices = suspect.devices;
  if (!suspect.microbatches.empty()) v->microbatches = suspect.microbatches;
}

}  // namespace

std::vector<stages::Violation> Explain(const lineage::Problem& problem,
                                       const stages::ClaimTable& table,
                                       const std::vector<stages::ClaimOutcome>& outcomes,
                                       const Witness& witness, const Findings& findings) {
  const lineage::RequiredRelation& required = problem.required[witness.required];
  const bool undefined = witness.undefined.tensor != sdfg::kNone;
  std::vector<stages::Violation> found;
  for (const Fault& fault : findings.faults) {
    stages::Violation& v = found.emplace_back(Refuted("value differs"));
    DescribePlace(problem, {.parallel = fault.tensors[0], .target = fault.lineages[0]}, &v);
    NameFault(fault, &v);
    v.parallel_operators = DescribeOperators(problem.parallel, fault.operators, Names::kEachOnce);
    v.parallel_places = PlacesOf(problem.parallel, fault.operators);
    v.at.operators = fault.operators;
    // The witness is an element of this tensor itself.
    if (found.size() == 1 && fault.tensors[0] == required.parallel) v.message.clear();
  }
  // The plan has no value: the operator that gives none, unless a difference before it is the
  // cause.
  if (found.empty() && undefined) {
    const sdfg::TensorId tensor = witness.undefined.tensor;
    const bool known = static_cast<size_t>(tensor) < problem.lineage.size() &&
                       problem.lineage[tensor].kind == lineage::LineageKind::kFull;
    stages::Violation& v = found.emplace_back(Refuted("value undefined"));
    // The required relation is about another tensor, of another rank.
    if (known) {
      DescribePlace(problem, {.parallel = tensor, .target = problem.lineage[tensor]}, &v);
    } else {
      DescribeUnrelated(problem, tensor, required.lineage.logical, &v);
    }
    v.advice = AdviceForUndefined(problem, {problem.parallel.tensors[tensor].producer});
    v.cause = absl::StrCat("undefined: ", shape_reduction::InWords(witness.undefined.by));
  }
  // Nothing but the output is seen to differ: the earliest claim that was not shown, or else the
  // output.
  if (found.empty()) {
    stages::Violation& v = found.emplace_back(Refuted("value differs"));
    stages::Claim claim{.parallel = required.parallel, .target = required.lineage};
    const std::vector<int> failed = table.Failed(outcomes);
    if (!failed.empty()) {
      claim = table.claims()[failed[0]];
      v.message = outcomes[failed[0]].reason;
    }
    DescribePlace(problem, claim, &v);
    NameSuspect(findings.suspect, &v);
    const std::vector<std::string> suspected =
        DescribeOperators(problem.parallel, findings.suspect.operators, Names::kAll);
    v.parallel_operators.insert(v.parallel_operators.begin(), suspected.begin(), suspected.end());
    const std::vector<sdfg::OperatorId>& suspects = findings.suspect.operators;
    v.at.operators.insert(v.at.operators.begin(), suspects.begin(), suspects.end());
    v.parallel_places = PlacesOf(problem.parallel, v.at.operators);
  }
  stages::Violation& first = found[0];
  first.witness_place =
      DescribeElement(problem.parallel, required.parallel, witness.parallel_index);
  first.witness_element = {.parallel = required.parallel,
                           .logical = required.lineage.logical,
                           .index = witness.parallel_index,
                           .logical_index = witness.logical_index};
  FillWitness(witness, &first);
  if (undefined) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[witness.undefined.tensor];
    first.witness_parallel_short = first.witness_parallel;
    absl::StrAppend(&first.message, first.message.empty() ? "" : "; ",
                    shape_reduction::InWords(witness.undefined.by), " in ",
                    problem.parallel.Describe(tensor.producer));
  }
  return found;
}

}  // namespace planproof::diagnosis
