#include "stages/plan_conditions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lineage/assumptions.h"
#include "stages/claim_questions.h"
#include "stages/claim_solver.h"
#include "stages/cone.h"

namespace planproof::stages {

namespace {

// They are comparisons of single elements.
constexpr int64_t kConditionTermBudget = 20'000;
constexpr int kConditionCells = 256;

// Conditions that operators of the plan declare. Also of operators without effect: a derivative
// does not repeat the conditions of its forward operator. They are evaluated in one worker.
std::vector<OpenCondition> OpenConditions(const lineage::Problem& problem,
                                          const WorkerLimits& limits, Relations* relations) {
  const sdfg::Graph& g = problem.parallel;
  std::vector<sdfg::OperatorId> declare;
  for (size_t op = 0; op < g.operators.size(); ++op) {
    if (!g.operators[op].function->premises.empty())
      declare.push_back(static_cast<sdfg::OperatorId>(op));
  }
  ClaimLimits claim_limits;
  claim_limits.term_budget = kConditionTermBudget;
  claim_limits.max_cells = kConditionCells;
  std::vector<ClaimOutcome> answers = AskInWorker(
      problem, relations, claim_limits, limits, static_cast<int>(declare.size()),
      [&](ClaimSolver* solver, int k) {
        return solver->Conditions(declare[static_cast<size_t>(k)]);
      },
      [&](int k) {
        return absl::StrCat("conditions of ", g.Describe(declare[static_cast<size_t>(k)]));
      });
  std::vector<OpenCondition> open;
  for (size_t k = 0; k < answers.size(); ++k) {
    ClaimOutcome& o = answers[k];
    for (Condition& condition : o.restrictions)
      open.push_back({.op = declare[k], .condition = std::move(condition)});
    if (o.status == ClaimStatus::kProved) continue;
    const sdfg::IndexFunction& f = *g.operators[declare[k]].function;
    Condition not_evaluated;
    not_evaluated.operator_name = f.operator_name;
    not_evaluated.declared = f.premises[0].text;
    not_evaluated.term = absl::StrCat("a condition that could not be evaluated (", o.reason, ")");
    open.push_back({.op = declare[k], .condition = std::move(not_evaluated)});
  }
  return open;
}

// Operators behind what is assumed run, too, and no claim meets the conditions under which they
// have a value: the logarithm of a number that is not positive has none, whatever it stands for.
std::vector<OpenCondition> ConditionsBehindAssumptions(const lineage::Problem& problem,
                                                       const WorkerLimits& limits,
                                                       Relations* relations) {
  if (!lineage::AssumesRelations(problem)) return {};
  const sdfg::Graph& g = problem.parallel;
  const Cone cone = ConeOfRequired(problem);
  std::vector<sdfg::OperatorId> behind;
  for (size_t op = 0; op < g.operators.size(); ++op) {
    if (!cone.operators[op] && sdfg::CanBeUndefined(*g.operators[op].function))
      behind.push_back(static_cast<sdfg::OperatorId>(op));
  }
  std::vector<ClaimOutcome> answers = AskInWorker(
      problem, relations, ClaimLimits(), limits, static_cast<int>(behind.size()),
      [&](ClaimSolver* solver, int k) {
        return solver->ConditionsOfValues(behind[static_cast<size_t>(k)]);
      },
      [&](int k) {
        return absl::StrCat("where ", g.Describe(behind[static_cast<size_t>(k)]), " has a value");
      });
  std::vector<OpenCondition> open;
  for (size_t k = 0; k < answers.size(); ++k) {
    ClaimOutcome& o = answers[k];
    for (Condition& condition : o.restrictions)
      open.push_back({.op = behind[k], .condition = std::move(condition)});
    if (o.status == ClaimStatus::kProved) continue;
    Condition not_evaluated;
    not_evaluated.operator_name = g.operators[behind[k]].function->operator_name;
    not_evaluated.term = absl::StrCat(
        "has a value where a condition holds that could not be evaluated (", o.reason, ")");
    open.push_back({.op = behind[k], .condition = std::move(not_evaluated)});
  }
  return open;
}

}  // namespace

std::vector<OpenCondition> ConditionsOfPlan(const lineage::Problem& problem, ConditionsAsked asked,
                                            ProofSearch* search, Relations* relations) {
  std::vector<OpenCondition> open;
  if (const std::vector<int> restricted = search->Restricted(); !restricted.empty()) {
    if (asked.discharge) search->Discharge(restricted);
    for (const int c : search->Restricted()) {
      for (const Condition& condition : search->outcomes()[c].restrictions)
        open.push_back({.claim = c, .condition = condition});
    }
  }
  for (OpenCondition& condition : OpenConditions(problem, search->Limits(), relations))
    open.push_back(std::move(condition));
  if (!asked.behind_assumptions) return open;
  for (OpenCondition& condition : ConditionsBehindAssumptions(problem, search->Limits(), relations))
    open.push_back(std::move(condition));
  return open;
}

}  // namespace planproof::stages
