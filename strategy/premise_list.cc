#include "strategy/premise_list.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::strategy {

namespace {

// "y > 0", "0 <= ids < 1024", one per declared premise.
std::vector<std::string> DeclaredPremises(const lineage::Problem& problem) {
  using Kind = lineage::Problem::InputPremise::Kind;
  std::vector<std::string> out;
  for (const auto& p : problem.premises) {
    const std::string& name = problem.logical.tensors[p.tensor].name;
    switch (p.kind) {
      case Kind::kPositive:
        out.push_back(name + " > 0");
        break;
      case Kind::kNonNegative:
        out.push_back(name + " >= 0");
        break;
      case Kind::kNonZero:
        out.push_back(name + " != 0");
        break;
      case Kind::kIntegerRange:
        out.push_back(absl::StrCat(p.low, " <= ", name, " < ", p.high));
        break;
      case Kind::kNoTie:
        out.push_back(name + " has no ties");
        break;
      case Kind::kRowUnmasked:
        out.push_back("every row of " + name + " has an unmasked entry");
        break;
    }
  }
  return out;
}

}  // namespace

void ListPremises(const lineage::Problem& problem, const stages::ClaimOutcomes& outcomes,
                  const std::vector<stages::OpenCondition>& conditions,
                  const std::optional<stages::ImpliedPremises>& implied, stages::Result* result) {
  std::set<std::string> premises, restrictions;
  for (std::string& declared : DeclaredPremises(problem)) premises.insert(std::move(declared));
  for (size_t c = 0; c < outcomes.size(); ++c) {
    const stages::ClaimOutcome& o = outcomes[c];
    if (o.status != stages::ClaimStatus::kProved) continue;  // its premises are premises of nothing
    for (const stages::Condition& condition : o.premises) premises.insert(InWords(condition));
  }
  for (const stages::OpenCondition& open : conditions) {
    restrictions.insert(
        absl::StrCat(open.op == sdfg::kNone ? "" : "in the plan, ", InWords(open.condition)));
  }
  if (implied.has_value()) {
    premises.insert(implied->texts.begin(), implied->texts.end());
    if (!implied->complete) result->warnings.push_back(implied->why);
  }
  if (implied.has_value() && implied->unsatisfiable) {
    stages::Violation v;
    v.kind = "premises that never hold";
    v.message = "the specification is defined nowhere: some operator is undefined for all inputs";
    result->violations.push_back(std::move(v));
  }
  result->premises.assign(premises.begin(), premises.end());
  result->restrictions.assign(restrictions.begin(), restrictions.end());
}

}  // namespace planproof::strategy
